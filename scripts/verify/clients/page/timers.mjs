// Calls that wait for a time: the clock wakes them, or a person is earlier.
import assert from 'node:assert/strict';
import { audit, say, tooWide } from './browser.mjs';

const log = (page) => page.getByRole('log');
const timer = (page) => log(page).getByRole('group', { name: 'Waits for a time: nap' });

// naps makes the agent clerk call a tool that waits for so many seconds.
async function naps(page, seconds) {
  await page.goto(`${page.url().replace(/#.*/, '')}#/?agent=clerk`);
  await say(page, `calls: [{"name":"nap","arguments":{"seconds":${seconds}}}]`);
  await timer(page).getByText(/^Wakes at /).waitFor();
}

// became waits for the line of the call that has waited, and reads what its details say.
async function became(page, word, said) {
  await log(page).getByText(word, { exact: true }).first().waitFor();
  await timer(page).waitFor({ state: 'detached' });
  await log(page).locator('details.call summary').first().click();
  await log(page).locator('.decided').getByText(said).waitFor();
}

export const timers = (on) => ({
  'a timer is woken by the clock': on(async (page) => {
    await naps(page, 2);
    assert.equal(await log(page).locator('[data-ticket]').count(), 0);
    await became(page, 'woken by the clock', /^Woken by the clock at /);
    await log(page).getByText('Results: "the clock"').waitFor();
    await page.reload();
    await became(page, 'woken by the clock', /^Woken by the clock at /);
  }),
  'a timer is woken early': on(async (page) => {
    await naps(page, 3601);
    await page.getByRole('region', { name: 'Running' }).getByRole('listitem').filter({ hasText: '3601' }).waitFor();
    assert.deepEqual(await tooWide(page), []);
    await audit(page);
    await page.reload();
    await timer(page).getByRole('button', { name: 'Wake now' }).click();
    await became(page, 'woken early', /^Woken early at /);
    await log(page).getByText('Results: "a person"').waitFor();
    await page.reload();
    await became(page, 'woken early', /^Woken early at /);
  }),
  'a timer is cancelled': on(async (page) => {
    await naps(page, 3600);
    await timer(page).getByRole('button', { name: 'Cancel' }).click();
    await became(page, 'cancelled', /^Cancelled at /);
  }),
  'a message beside a timer asks first': on(async (page) => {
    await naps(page, 3600);
    await say(page, 'something else');
    const alert = page.getByRole('alert');
    await alert.getByText(/^A message now cancels the call of nap that waits until /).waitFor();
    await alert.getByRole('button', { name: 'Keep waiting' }).click();
    await timer(page).waitFor();
    await page.locator('#composer').press('Enter');
    await alert.getByRole('button', { name: 'Send it' }).click();
    await log(page).getByText('You said: something else', { exact: true }).waitFor();
  }),
});
