// The last guard: no text is drawn with characters that hide, whatever view forgot them.
// Views that show arguments and other strange values mark the codes themselves (Shown).
import { options, type VNode } from 'preact';
import { coded } from './characters';

const said = ['title', 'aria-label', 'alt', 'placeholder'];

const before = options.vnode;

options.vnode = (v: VNode<any>) => {
  before?.(v);
  if (v.type === null) v.props = coded(String(v.props), true); // a text
  else if (typeof v.type === 'string') for (const name of said) if (typeof v.props[name] === 'string') v.props[name] = coded(v.props[name], true);
};
