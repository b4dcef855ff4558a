// A page for React, without a screen.
import { JSDOM } from 'jsdom';

const { window } = new JSDOM('<!doctype html><div id="root"></div>', { url: 'http://localhost:5173/', pretendToBeVisual: true });
const observer = class { observe() {} unobserve() {} disconnect() {} };
const { fetch } = globalThis;
globalThis.window = window;
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis)) globalThis[name] = window[name];
}
Object.defineProperty(globalThis, 'navigator', { value: window.navigator, configurable: true });
window.matchMedia = () => ({ matches: false, addEventListener() {}, removeEventListener() {} });
globalThis.ResizeObserver = globalThis.IntersectionObserver = observer;
window.fetch = fetch;

/** Waits until f returns something. */
export async function until(what, f) {
  for (const end = Date.now() + 20_000; Date.now() < end; await new Promise(resolve => setTimeout(resolve, 20))) {
    const value = f();
    if (value) return value;
  }
  throw new Error(`${what}: it did not come within 20 s; the page shows ${document.body.textContent.slice(0, 400)}`);
}

/** Types a text into the page's box and sends it. */
export async function type(text) {
  const box = await until('the box', () => document.querySelector('textarea'));
  Object.getOwnPropertyDescriptor(window.HTMLTextAreaElement.prototype, 'value').set.call(box, text);
  box.dispatchEvent(new window.Event('input', { bubbles: true }));
  const send = await until('a button that sends', () => document.querySelector('[data-testid="copilot-send-button"]:not([disabled])'));
  send.dispatchEvent(new window.MouseEvent('click', { bubbles: true, cancelable: true }));
}
