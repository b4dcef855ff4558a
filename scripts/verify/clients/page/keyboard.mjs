// The page without a mouse.
import assert from 'node:assert/strict';

export const keyboard = (on) => ({
  'everything is reached by keys': on(async (page) => {
    const key = (...keys) => keys.reduce((before, k) => before.then(() => page.keyboard.press(k)), Promise.resolve());
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') || [...(document.activeElement?.childNodes ?? [])].filter((n) => n.nodeName !== 'KBD').map((n) => n.textContent).join('').trim() || document.activeElement?.id || '');
    await page.waitForFunction(() => document.activeElement?.id === 'composer');
    await page.keyboard.type('approve: by keys');
    await key('Enter');
    const ticket = page.getByRole('log').getByRole('group', { name: 'Waiting: danger' });
    await ticket.waitFor();
    await key('a'); // in the composer, where it is a letter and no answer
    assert.equal(await page.locator('#composer').inputValue(), 'a');
    await key('Backspace', 'Shift+Tab');
    for (let i = 0; i < 30 && (await focused()) !== 'Approve'; i++) await key('Shift+Tab');
    assert.equal(await focused(), 'Approve', 'Shift+Tab leads to the call');
    await key('a');
    await page.getByRole('log').getByText('Done: by keys').waitFor();

    await page.evaluate(() => document.activeElement.blur());
    await key('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await key('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await key('g', 'w');
    await page.getByRole('heading', { name: 'Waiting', level: 1, exact: true }).waitFor();
    await key('g', 'a');
    await page.getByRole('heading', { name: 'demo', level: 1, exact: true }).waitFor();
    await key('j');
    await page.waitForFunction(() => /buyer|clerk|coordinator|demo/.test(document.activeElement?.closest('main [data-row]')?.textContent));
    await key('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('runs');
    await key('Enter');
    await page.getByRole('heading', { name: 'Runs', level: 1, exact: true }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.goBack();
    await page.getByRole('log').getByText('Done: by keys').waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await key('4');
    assert.equal(await page.getByRole('tab', { name: 'Events' }).getAttribute('aria-selected'), 'true');
    await key('1', ']', ']');
    await page.waitForURL(/step=2/);
    await key('[');
    await page.waitForURL(/step=1/);
    await page.getByRole('treegrid').locator('[tabindex="0"]').focus();
    await key('ArrowDown');
    await page.waitForURL(/step=1&call=model/);
    await key('y');
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === location.href);
    await key('F6');
    await page.waitForFunction(() => document.activeElement.closest('[data-pane="nav"]')); // from the last pane to the first
    await key('/');
    await page.waitForFunction(() => document.activeElement?.id === 'search');
    await page.evaluate(() => document.activeElement.blur());
    await key('n');
    await page.waitForFunction(() => document.activeElement?.id === 'composer');
    await page.keyboard.type('slow: 300');
    await key('Enter');
    await page.getByRole('log').getByText('w2').waitFor();
    await key('Control+.');
    await page.getByRole('log').getByText('cancelled').waitFor();
  }),
});
