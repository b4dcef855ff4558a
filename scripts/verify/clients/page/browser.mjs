// Chromium, and pages in it that are watched for what must not happen.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// watched opens a page in a context of its own. Its faults are what its console called an
// error, uncaught errors, and violations of the content security policy. quiet waits until
// the page has read what it asks for.
export async function watched(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
  const faults = [];
  await context.exposeBinding('violated', (_, text) => faults.push(`policy: ${text}`));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => window.violated(`${e.violatedDirective} ${e.blockedURI}`));
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000); // the machine has other things to do
  page.on('console', (m) => m.type() === 'error' && faults.push(`console: ${m.text()} ${m.location().url}`));
  page.on('pageerror', (e) => faults.push(`error: ${e.stack}`));
  const asked = new Set();
  page.on('request', (r) => asked.add(r));
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => asked.delete(r));
  const quiet = async () => {
    for (let looks = 0, still = 0; looks < 200 && still < 4; looks++) {
      await page.waitForTimeout(50);
      still = asked.size ? 0 : still + 1;
    }
  };
  return { context, page, faults, quiet };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// audit returns what axe finds on a page, and what it cannot judge, as lines.
export async function audit(page) {
  await page.evaluate(axe); // addScriptTag is refused by the policy, which stays
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations', 'incomplete'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  // What the edge of something that scrolls cuts off is judged where it is whole.
  for (const r of found.incomplete.filter((r) => r.id === 'color-contrast')) {
    const left = [];
    for (const n of r.nodes) {
      const again = await page.evaluate(async (selector) => {
        const e = document.querySelector(selector);
        if (!e) return { violations: [], incomplete: [] }; // it was drawn anew meanwhile
        e.scrollIntoView({ block: 'center', behavior: 'instant' });
        return window.axe.run(e, { resultTypes: ['violations', 'incomplete'], runOnly: { type: 'rule', values: ['color-contrast'] } });
      }, String(n.target));
      left.push(...again.incomplete.concat(again.violations).flatMap((r) => r.nodes));
    }
    r.nodes = left;
  }
  found.incomplete = found.incomplete.filter((r) => r.nodes.length);
  const line = (kind) => (r) => `${kind} ${r.id}: ${r.nodes.map((n) => `${n.target} ${n.any.concat(n.all, n.none).map((c) => c.message)[0] ?? ''}`).join(' | ')}`;
  return [...found.violations.map(line('violation')), ...found.incomplete.map(line('incomplete'))];
}

// tooWide lists what is wider than the screen.
export const tooWide = (page) =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const scrolls = (e) => {
      for (let p = e.parentElement; p; p = p.parentElement) if (/auto|scroll|hidden/.test(getComputedStyle(p).overflowX) && p !== document.body && p !== document.documentElement) return true;
      return false;
    };
    const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e)).map((e) => e.outerHTML.slice(0, 80));
    return document.documentElement.scrollWidth > width ? [`the page is ${document.documentElement.scrollWidth} wide`, ...wide] : wide;
  });

// say writes a message and sends it.
export async function say(page, text) {
  const field = page.getByRole('textbox', { name: 'Message', exact: true });
  await field.fill(text);
  await field.press('Enter');
}

const atOnce = 3; // scenarios: most of them wait

// report runs scenarios and prints what each came to: null, or its failure. ONLY and SKIP are
// patterns of their names.
export async function report(scenarios) {
  const all = {};
  const todo = Object.entries(scenarios).filter(([name]) => (!process.env.ONLY || new RegExp(process.env.ONLY).test(name)) && !(process.env.SKIP && new RegExp(process.env.SKIP).test(name)));
  const work = async () => {
    for (let next = todo.shift(); next; next = todo.shift()) {
      const [name, run] = next;
      const start = Date.now();
      all[name] = await run().then(() => null, (e) => String(e?.stack ?? e));
      console.error(`${name}: ${all[name] === null ? 'ok' : 'FAILED'} ${Date.now() - start} ms`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  console.log(JSON.stringify(all));
}
