// Uses the app of usechat/app.tsx as a person does. Argument: its address.
import assert from 'node:assert/strict';
import { launch, report, watched } from './browser.mjs';

const [url] = process.argv.slice(2);
const browser = await launch();
const words = (n) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(' ');

// on runs a scenario on a thread of its own.
const on = (f) => async () => {
  const { context, page, faults } = await watched(browser);
  try {
    await page.goto(`${url}#t-${crypto.randomUUID()}`);
    await page.getByRole('textbox').waitFor();
    await f(page);
    assert.deepEqual(faults.filter((line) => !/status of 404/.test(line)), []); // the messages of a new thread
  } finally {
    await context.close();
  }
};

const say = async (page, text) => {
  await page.getByRole('textbox').fill(text);
  await page.getByRole('textbox').press('Enter');
};
const answer = (page) => page.getByRole('article', { name: 'assistant' }).last();

await report({
  'an answer is seen as it is said': on(async (page) => {
    await say(page, 'slow: 40');
    await answer(page).getByText('w3').waitFor();
    assert.ok(!(await answer(page).innerText()).includes('w40'), 'it came all at once');
    await answer(page).getByText(words(40), { exact: true }).waitFor();
  }),
  'a call is approved': on(async (page) => {
    await say(page, 'approve: ship it');
    await page.getByRole('button', { name: 'Approve ship it' }).click();
    await answer(page).getByText('Done: ship it').waitFor();
    assert.match(await answer(page).innerText(), /"executions":1/);
  }),
  'a call is approved after a reload': on(async (page) => {
    await say(page, 'approve: later');
    await page.getByRole('button', { name: 'Approve later' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Approve later' }).click();
    await answer(page).getByText('Done: later').waitFor();
    assert.equal(await page.getByRole('article').count(), 2);
  }),
  'a reload in the middle loses nothing': on(async (page) => {
    await say(page, 'slow: 90');
    await answer(page).getByText('w10').waitFor();
    await page.reload();
    await answer(page).getByText('w10').waitFor();
    assert.ok(!(await answer(page).innerText()).includes('w90'), 'the whole answer came at once');
    await answer(page).getByText(words(90), { exact: true }).waitFor();
    assert.equal(await page.getByRole('article').count(), 2);
    await page.reload();
    await answer(page).getByText(words(90), { exact: true }).waitFor();
  }),
});
await browser.close();
