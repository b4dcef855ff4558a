// Files that go with a message.
import { Shown, coded } from './hidden';
import { Icon } from './icons';
import type { Block } from './types';

// largest is how much of files one message may have, in characters of base64: a body of
// the host has room for 1 MB.
export const largest = 900_000;

const longest = 200_000; // characters of a text that is written into the message itself

// read makes of a file what a message has of it: a text is written out, so that every
// model can read it, anything else is a file; undefined: it is too large.
export async function read(f: File): Promise<Block | undefined> {
  if (f.size > largest) return undefined;
  const bytes = new Uint8Array(await f.arrayBuffer());
  if (!/^(image|audio|video|font)\/|pdf$/.test(f.type)) {
    const text = asText(bytes);
    if (text !== undefined && text.length <= longest) return { type: 'file', text: fenced(f.name, text) };
  }
  return { type: 'file', media_type: f.type || 'application/octet-stream', data: base64(bytes), filename: f.name };
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function fenced(name: string, text: string): string {
  const fence = '`'.repeat(Math.max(3, ...Array.from(text.matchAll(/`+/g), (m) => m[0].length + 1)));
  return `${name}:\n${fence}\n${text.trimEnd()}\n${fence}\n`;
}

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

// picture is the address of a picture that came with its bytes; undefined: it is none.
export const picture = (block: Block) =>
  block.data && /^image\/(png|jpeg|gif|webp)$/.test(block.media_type ?? '') ? `data:${block.media_type};base64,${block.data}` : undefined;

// FileView shows a file: a picture that came with its bytes as itself, anything else by
// its name, which saves it if its bytes are there. Nothing is fetched from an address, and no
// file is opened in the page.
export function FileView({ block, saves }: { block: Block; saves?: boolean }) {
  const name = block.filename || block.media_type || 'file';
  const source = picture(block);
  if (source) return <img class="file" src={source} alt={coded(name)} />;
  const shown = <><Icon name="clip" /> <bdi><Shown text={name} /></bdi></>;
  if (saves && block.data) return <a class="file" href={`data:application/octet-stream;base64,${block.data}`} download={savedAs(block)} aria-label={`Save ${coded(name)}`}>{shown}</a>;
  return <span class="file">{shown}{block.url && <> at <Shown text={block.url} /></>}</span>;
}

// savedAs is the name under which a file is saved: its own, or one with the type's ending.
function savedAs(block: Block): string {
  const ending = /^[a-z]+\/(?:[a-z]+[.+-])*([a-z0-9]{2,4})(?:;|$)/.exec(block.media_type ?? '')?.[1];
  return block.filename?.replace(/[\\/\p{C}]/gu, '_') || (ending ? `file.${ending}` : 'file');
}
