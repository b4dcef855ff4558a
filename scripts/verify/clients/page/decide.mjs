// Answers to what waits: in the chat, in the field below it, and in the list.
import assert from 'node:assert/strict';
import { audit, say, tooWide, watched } from './browser.mjs';
import { inbox } from './inbox.mjs';

const log = (page) => page.getByRole('log');
const ticket = (page, tool) => log(page).getByRole('group', { name: `Waiting: ${tool}` });
const focused = (page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.dataset.ticket || document.activeElement?.textContent || '');

// clerk opens a new thread with the agent whose calls wait, and makes it call.
async function clerk(page, ...calls) {
  await page.goto(`${page.url().replace(/#.*/, '')}#/?agent=clerk`);
  await say(page, `calls: ${JSON.stringify(calls.map(([name, args]) => ({ name, arguments: args })))}`);
}

const refund = (more) => ['refund_order', { order: '88-1042', amount: 64.9, ...more }];
const hidden = 'lamp \u202edrow\u200b!';

export const decide = (on) => ({
  'Enter in the field answers, and cancels nothing': on(async (page) => {
    await say(page, 'ask: your name?');
    const answer = page.getByRole('textbox', { name: 'Your answer' });
    await answer.waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Message', exact: true }).count(), 0);
    await log(page).getByText('answer below').waitFor();
    assert.equal(await focused(page), 'composer');
    await page.keyboard.type('Ann');
    await page.keyboard.press('Enter');
    await log(page).getByText('The answer is: Ann').waitFor();
    assert.equal(await log(page).getByText('cancelled').count(), 0);
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Message');
  }),
  'a question is declined': on(async (page) => {
    await say(page, 'ask: your name?');
    await page.getByRole('button', { name: 'Decline to answer' }).click();
    await log(page).getByText('The call of ask_user was denied.').waitFor();
  }),
  'something else is said instead of an answer': on(async (page) => {
    await say(page, 'ask: your name?');
    await page.getByRole('button', { name: 'Say something else instead…' }).click();
    await page.getByText('A message now cancels the question “your name?”.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'Your answer' }).waitFor();
    await page.getByRole('button', { name: 'Say something else instead…' }).click();
    await say(page, 'echo: no name');
    await log(page).getByText('Echo: no name', { exact: true }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Your answer' }).count(), 0);
  }),
  'a message beside an approval asks first': on(async (page) => {
    await say(page, 'approve: ship it');
    await ticket(page, 'danger').waitFor();
    await say(page, 'echo: other');
    const alert = page.getByRole('alert');
    await alert.getByText('A message now cancels the call of danger that waits for you.').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await alert.waitFor({ state: 'detached' });
    assert.equal(await page.locator('#composer').inputValue(), 'echo: other');
    await ticket(page, 'danger').waitFor();
    await page.locator('#composer').press('Enter');
    await alert.getByRole('button', { name: 'Say something else instead' }).click();
    await log(page).getByText('Echo: other', { exact: true }).waitFor();
    await ticket(page, 'danger').waitFor({ state: 'detached' });
  }),
  'Escape closes what has just come': on(async (page) => {
    await say(page, 'approve: at once');
    await ticket(page, 'danger').waitFor();
    await page.evaluate(() => {
      new MutationObserver((_, self) => {
        if (!document.querySelector('[role=alert]')) return;
        self.disconnect();
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }));
        window.pressed = true;
      }).observe(document.body, { childList: true, subtree: true });
    });
    await say(page, 'echo: other');
    await page.waitForFunction(() => window.pressed);
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await ticket(page, 'danger').waitFor();
  }),
  'a choice answers, by a digit too': on(async (page) => {
    await clerk(page, ['choose', { question: 'Which language?' }]);
    await page.locator('.lead').getByText('Which language?').waitFor();
    await page.getByText(/\d+ (min|h) left/).waitFor();
    await page.getByRole('button', { name: 'German' }).focus();
    await page.keyboard.press('2');
    await log(page).getByText('Results: "French"').waitFor();
    await clerk(page, ['pick', { question: 'Which colour?', options: ['red', 'blue'] }]);
    await page.getByRole('button', { name: 'blue' }).waitFor();
    await page.getByRole('textbox', { name: 'Your answer' }).fill('2 greens');
    await page.keyboard.press('Enter');
    await log(page).getByText('Results: "2 greens"').waitFor();
  }),
  'an answer of several fields has a form': on(async (page) => {
    await clerk(page, ['address', {}]);
    await page.getByRole('textbox', { name: 'city' }).fill('Graz');
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('A value is required.').waitFor();
    await page.getByRole('textbox', { name: 'zip' }).fill('8010');
    await page.keyboard.press('Enter');
    await log(page).getByText('Results: {"city":"Graz","zip":8010}').waitFor();
  }),
  'an approval brings what its tool asks for': on(async (page) => {
    await clerk(page, ['sign', { letter: 'A' }]);
    const card = ticket(page, 'sign');
    await card.getByText('Who signs?').waitFor();
    await card.getByRole('textbox', { name: 'name' }).fill('Ann');
    await card.getByRole('button', { name: 'Approve', exact: true }).click();
    await log(page).getByText('Results: {"letter":"A","signed":{"name":"Ann"}}').waitFor();
  }),
  'questions are asked one after another': on(async (page) => {
    await clerk(page, ['pick', { question: 'First?' }], ['pick', { question: 'Second?' }]);
    const field = page.getByRole('textbox', { name: 'Your answer' });
    await page.getByText('1 of 2').waitFor();
    await field.fill('one');
    await field.press('Enter');
    await page.locator('.lead').getByText('Second?').waitFor();
    await page.waitForFunction(() => document.activeElement?.id === 'composer');
    await page.keyboard.type('two');
    await page.keyboard.press('Enter');
    await log(page).getByText('Results: "one" and "two"').waitFor();
  }),
  'a message that was begun does not become an answer': on(async (page) => {
    await page.goto(`${page.url().replace(/#.*/, '')}#/?agent=clerk`);
    await say(page, 'slow: 80');
    await log(page).getByText('w3').waitFor();
    await say(page, 'ask: your name?');
    await page.locator('#composer').fill('half a mess');
    await log(page).getByText('answer below').waitFor();
    await page.keyboard.type('age');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('A message now cancels').waitFor();
    await page.getByRole('button', { name: 'Answer it' }).click();
    await page.getByRole('textbox', { name: 'Your answer' }).fill('Ann');
    await page.keyboard.press('Enter');
    await log(page).getByText('The answer is: Ann').waitFor();
    assert.equal(await page.locator('#composer').inputValue(), 'half a message');
  }),
  'hidden characters are shown as codes': on(async (page) => {
    await clerk(page, refund({ note: hidden }));
    const card = ticket(page, 'refund_order');
    await card.getByText('U+202E right-to-left', { exact: true }).waitFor();
    await card.getByText('U+200B no width', { exact: true }).waitFor();
    await card.getByText('2 hidden characters').waitFor();
    const text = await log(page).innerText();
    assert.doesNotMatch(text, /[\u202e\u200b]/);
    await card.getByRole('button', { name: 'Take them out' }).click();
    await card.getByText('lamp drow!').first().waitFor();
    await card.getByRole('button', { name: 'Approve with 1 change' }).waitFor();
    await card.getByRole('button', { name: 'Undo note' }).click();
    await card.getByText('2 hidden characters').waitFor();
    await card.getByRole('button', { name: 'Approve', exact: true }).click();
    await log(page).getByText('Results:').waitFor();
    assert.doesNotMatch(await log(page).innerText(), /[\u202e\u200b]/);
  }),
  'nothing hides in any view': on(async (page) => {
    const from = page.url().replace(/#.*/, '');
    await say(page, `call: echo {"text":"${hidden}"}`);
    await log(page).getByText('The result of echo').waitFor();
    const run = await page.evaluate(async () => (await (await fetch('v1/runs?limit=1')).json()).runs[0].run_id);
    for (const view of ['', 'runs', 'waiting', `runs/${run}`, `runs/${run}?step=1&call=model`, `runs/${run}?tab=events`, `runs/${run}?tab=request`]) {
      if (view) await page.goto(`${from}#/${view}`);
      await page.getByText('U+202E').first().waitFor({ state: 'attached' });
      const shown = await page.evaluate(() => [document.body.innerText, ...[...document.querySelectorAll('[title], [aria-label], [placeholder]')].map((e) => `${e.title} ${e.ariaLabel} ${e.placeholder}`), document.title].join('\n'));
      assert.doesNotMatch(shown, /[\u202e\u200b]/, view);
    }
  }),
  'arguments are rows that can be edited': on(async (page) => {
    await clerk(page, refund({ urgent: true }));
    const card = ticket(page, 'refund_order');
    await card.getByText('Pays money back to the card of the order.').waitFor();
    await card.getByText('May the clerk refund?').waitFor();
    await card.getByRole('button', { name: 'Edit amount' }).click();
    await page.waitForFunction(() => document.activeElement?.value === '64.9');
    await page.keyboard.type('x');
    await page.keyboard.press('Enter');
    await card.getByText('It must be a number.').waitFor();
    await card.getByRole('textbox', { name: 'amount' }).fill('44.9');
    await card.getByText('the model said 64.9, your change 44.9').waitFor();
    await card.getByRole('button', { name: 'Approve with 1 change' }).waitFor();
    await card.getByRole('button', { name: 'Edit urgent' }).click();
    await card.getByLabel('urgent', { exact: true }).selectOption('false');
    await card.getByRole('button', { name: 'note' }).click();
    await card.getByRole('textbox', { name: 'note' }).fill('sorry');
    await card.getByRole('button', { name: 'Approve with 3 changes' }).waitFor();
    await page.keyboard.press('Escape');
    await card.getByRole('button', { name: 'Approve with 2 changes' }).waitFor();
    await card.getByRole('button', { name: 'Undo urgent' }).click();
    await card.getByRole('button', { name: 'Undo amount' }).click();
    await card.getByRole('button', { name: 'Approve', exact: true }).click();
    await log(page).getByText('"amount":64.9').first().waitFor();
  }),
  'edited arguments run, and the original is kept': on(async (page) => {
    await clerk(page, refund());
    const card = ticket(page, 'refund_order');
    await card.getByRole('button', { name: 'Edit amount' }).click();
    await card.getByRole('textbox', { name: 'amount' }).fill('4490');
    await card.getByRole('button', { name: 'Approve with 1 change' }).click();
    await card.locator('.given-row', { hasText: 'amount' }).getByText(/over 1000/).waitFor();
    await card.getByRole('textbox', { name: 'amount' }).fill('44.9');
    await card.getByText(/over 1000/).waitFor({ state: 'detached' });
    await card.getByRole('button', { name: 'Approve with 1 change' }).click();
    await log(page).getByText(/Results: .*"amount":44.9/).waitFor();
    const made = await page.evaluate(async () => {
      const { runs } = await (await fetch('v1/runs?agent=clerk&limit=20')).json();
      for (const { run_id } of runs) {
        const { steps } = await (await fetch(`v1/runs/${run_id}/steps`)).json();
        const found = steps.flatMap((s) => s.calls ?? []).find((c) => c.result?.amount === 44.9);
        if (found) return found;
      }
    });
    assert.equal(made.arguments.amount, 64.9);
    assert.equal(made.edited?.amount ?? made.result.amount, 44.9);
  }, {}, /status of 400/),
  'the arguments that a tool asks for are edited in place': on(async (page) => {
    await clerk(page, ['ship', { to: 'Berlin', boxes: 2 }]);
    const card = ticket(page, 'ship');
    await card.getByText(/min left/).waitFor();
    assert.equal(await card.getByText('Ask me again?').count(), 0);
    await card.getByRole('button', { name: 'Edit boxes' }).click();
    await card.getByRole('textbox', { name: 'boxes' }).fill('3');
    await card.getByRole('button', { name: 'tags' }).click();
    await card.getByRole('textbox', { name: 'tags' }).fill('["frag');
    await card.getByText('This is not valid JSON.').waitFor();
    await card.getByRole('textbox', { name: 'tags' }).fill('["fragile"]');
    await card.getByRole('button', { name: 'Approve with 2 changes' }).click();
    await log(page).getByText('Results: {"to":"Berlin","boxes":3,"tags":["fragile"]}').waitFor();
  }),
  'the focus moves to the next ticket, then to the field': on(async (page) => {
    await clerk(page, refund({ order: 'A' }), refund({ order: 'B' }));
    const first = ticket(page, 'refund_order').filter({ hasText: 'A' }).first();
    await first.getByRole('button', { name: 'Approve' }).click();
    await page.waitForFunction(() => document.activeElement?.dataset.ticket && document.activeElement.textContent.includes('B'));
    await page.keyboard.press('a');
    await page.waitForFunction(() => document.activeElement?.id === 'composer');
    await log(page).getByText(/Results: .*"A".* and .*"B"/).waitFor();
  }),
  'Escape closes what was opened last': on(async (page) => {
    await clerk(page, refund());
    const card = ticket(page, 'refund_order');
    await card.getByRole('button', { name: 'Edit amount' }).click();
    await card.getByRole('button', { name: 'Deny…' }).click();
    await card.getByLabel('Reason').fill('why');
    await page.keyboard.press('Escape');
    await card.getByRole('button', { name: 'Deny…' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.key === 'd');
    await card.getByRole('textbox', { name: 'amount' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await card.getByRole('textbox', { name: 'amount' }).waitFor();
    await page.keyboard.press('Escape');
    await card.getByRole('textbox', { name: 'amount' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await card.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  }),
  'a draft stays with its thread': on(async (page) => {
    await say(page, 'echo: first');
    await log(page).getByText('Echo: first', { exact: true }).waitFor();
    const there = page.url();
    await page.locator('#composer').fill('of the first');
    await page.getByRole('link', { name: 'New thread' }).click();
    await page.waitForFunction(() => document.getElementById('composer')?.value === '');
    await page.locator('#composer').fill('of the second');
    await page.goto(there);
    await page.waitForFunction(() => document.getElementById('composer')?.value === 'of the first');
    await page.reload();
    await page.waitForFunction(() => document.getElementById('composer')?.value === 'of the first');
    await page.getByRole('link', { name: 'New thread' }).click();
    await page.waitForFunction(() => document.getElementById('composer')?.value === 'of the second');
    await page.locator('#composer').fill('echo: sent');
    await page.keyboard.press('Enter');
    await log(page).getByText('Echo: sent', { exact: true }).waitFor();
    await page.reload();
    await log(page).getByText('Echo: sent', { exact: true }).waitFor();
    assert.equal(await page.locator('#composer').inputValue(), '');
  }),
  'an answer that another user has given is shown': on(async (page) => {
    await say(page, 'approve: twice');
    const card = ticket(page, 'danger');
    await card.waitFor();
    await page.route(/\/decision$/, async (route) => {
      const body = route.request().postDataJSON();
      await page.request.post(route.request().url(), { data: { ...body, decision_id: 'other', action: 'cancel', reason: 'too late' } });
      await route.continue();
    });
    await card.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Another user was faster').first().waitFor();
    await log(page).getByText('The call of danger was denied.').waitFor();
  }, {}, /status of 409/),
  ...inbox(on),
});

// asks returns a scenario for each width: how answers look, in both themes.
export const asks = (browser, url, pictures) =>
  Object.fromEntries(
    [1440, 1024, 768, 390].map((width) => [
      `answers, ${width}`,
      async () => {
        const { context, page, faults, quiet } = await watched(browser, { viewport: { width, height: 844 } });
        const found = [];
        const look = async (name) => {
          await quiet();
          for (const colorScheme of ['light', 'dark']) {
            await page.emulateMedia({ colorScheme });
            await page.screenshot({ path: `${pictures}/${width}-${colorScheme}-${name}.png` });
            found.push(...(await audit(page)).map((line) => `${name}, ${colorScheme}: ${line}`));
          }
          found.push(...(await tooWide(page)).map((line) => `${name}: too wide: ${line}`));
        };
        await page.goto(url);
        await clerk(page, refund({ note: hidden }), refund({ order: 'plain' }), ['choose', { question: 'Which language?' }], ['pick', { question: 'Which colour?', options: ['red', 'blue'] }]);
        const card = ticket(page, 'refund_order').filter({ hasText: 'hidden characters' });
        await card.getByRole('button', { name: 'Edit amount' }).click();
        await card.getByRole('textbox', { name: 'amount' }).fill('44.9');
        await look('answer');
        await page.getByRole('button', { name: 'French' }).click();
        await page.locator('.lead').getByText('Which colour?').waitFor();
        await page.getByRole('button', { name: 'Say something else instead…' }).click();
        await look('instead');
        await page.goto(`${url}/#/waiting?agent=clerk`);
        const row = page.locator('.item').filter({ hasText: 'hidden characters' }).first();
        if (width >= 760) await page.locator('.item').filter({ hasText: 'refund_order plain' }).first().getByRole('checkbox').check();
        await row.locator('[data-row]').click();
        await look('waiting-call');
        await context.close();
        assert.deepEqual([...found, ...faults], []);
      },
    ]),
  );
