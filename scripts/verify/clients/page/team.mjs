// A run that waits for child runs: what they do, and what they ask, in its chat and on its page.
import assert from 'node:assert/strict';
import { audit, say, tooWide } from './browser.mjs';

const log = (page) => page.getByRole('log');
const tree = (page, agent) => log(page).getByRole('group', { name: `Child runs of agent_run_${agent}` });
const ticket = (page) => log(page).getByRole('group', { name: 'Waiting: danger' });

// coordinates makes the agent coordinator leave work to its team. The buyer asks before it acts.
async function coordinates(page, list, order, agent = 'coordinator') {
  await page.goto(`${page.url().replace(/#.*/, '')}#/?agent=${agent}`);
  await say(page, `team: ${list}`);
  await ticket(page).getByText(order, { exact: true }).waitFor();
}

// looks checks what is in sight.
async function looks(page) {
  assert.deepEqual(await tooWide(page), []);
  assert.deepEqual(await audit(page), []);
}

const approve = (page) => ticket(page).getByRole('button', { name: 'Approve' }).click();

export const team = (on) => ({
  'a team works, and asks in the chat of its coordinator': on(async (page) => {
    await coordinates(page, 'researcher slow: 40 | buyer approve: order', 'order');
    await tree(page, 'buyer').getByText('waiting', { exact: true }).waitFor();
    await tree(page, 'researcher').getByText('running', { exact: true }).waitFor();
    await tree(page, 'researcher').getByText(/w3 w4/).waitFor();
    await log(page).getByText('child run asks you').waitFor();
    await ticket(page).getByText('May buyer call danger?').waitFor();
    await page.reload(); // while both are open
    await tree(page, 'researcher').getByRole('link', { name: 'researcher' }).waitFor();
    await approve(page);
    await log(page).getByText('buyer: Done: order').waitFor();
    await log(page).getByText(/^researcher: w1 w2/).waitFor();
    assert.equal(await ticket(page).count(), 0);
    await tree(page, 'buyer').waitFor({ state: 'detached' });
  }),
  'what a child run asks is denied in the chat of its parent': on(async (page) => {
    await coordinates(page, 'researcher echo: prices | buyer approve: never', 'never');
    await log(page).getByText('Echo: prices').first().waitFor();
    await ticket(page).getByRole('button', { name: 'Deny…' }).click();
    await ticket(page).getByLabel('Reason').fill('too dear');
    await ticket(page).getByRole('button', { name: 'Deny', exact: true }).click();
    await log(page).getByText('buyer: The call of danger was denied.').waitFor();
  }),
  'a run below a child run is a branch of its tree': on(async (page) => {
    await coordinates(page, 'coordinator team: buyer approve: deep', 'deep', 'lead');
    await tree(page, 'coordinator').getByRole('listitem').filter({ hasText: 'coordinator' }).getByRole('listitem').getByRole('link', { name: 'buyer' }).waitFor();
    await approve(page);
    await log(page).getByText('coordinator: buyer: Done: deep').waitFor();
  }),
  'a question of a child run is answered in the field below': on(async (page) => {
    await page.goto(`${page.url().replace(/#.*/, '')}#/?agent=lead`);
    await say(page, 'team: clerk ask: Which colour?');
    const field = page.getByRole('textbox', { name: 'Your answer' });
    await field.waitFor();
    await page.getByRole('button', { name: 'Say something else instead…' }).click();
    await page.getByText('A child run asks you a question.').waitFor();
    await page.getByRole('button', { name: 'Answer it' }).click();
    await field.fill('blue');
    await field.press('Enter');
    await log(page).getByText(/^clerk: .*blue/).waitFor();
  }),
  'the tools of a child run are shown while they run': on(async (page) => {
    await page.goto(`${page.url().replace(/#.*/, '')}#/?agent=lead`);
    await say(page, 'team: desk scan for long');
    await tree(page, 'desk').getByText('scan', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await tree(page, 'desk').waitFor({ state: 'detached' });
  }),
  'what others decide for a child run is seen in the chat and on the page of its parent': on(async (page) => {
    await coordinates(page, 'buyer approve: elsewhere | buyer approve: later', 'elsewhere');
    await ticket(page).getByText('later', { exact: true }).waitFor();
    const base = page.url().replace(/#.*/, '');
    const others = async (text) => { // approve it
      const { approvals } = await (await page.request.get(`${base}v1/approvals`)).json();
      const { run_id, suspension_id, parent } = approvals.find((a) => a.arguments.text === text);
      await page.request.post(`${base}v1/runs/${run_id}/decision`, { data: { suspension_id, action: 'resume', decision_id: text } });
      return parent.run_id;
    };
    const parent = await others('elsewhere');
    await ticket(page).getByText('elsewhere', { exact: true }).waitFor({ state: 'detached' });
    assert.equal(await ticket(page).count(), 1);
    await page.goto(`${base}#/runs/${parent}`);
    const asks = page.getByRole('region', { name: 'Child runs ask' });
    await asks.getByText('later', { exact: true }).waitFor();
    await others('later');
    await asks.waitFor({ state: 'detached' });
    await page.getByRole('complementary').getByText('buyer: Done: later').waitFor();
  }),
  'the page of a run has the runs above and below it': on(async (page) => {
    await coordinates(page, 'coordinator team: buyer approve: there', 'there', 'lead');
    await tree(page, 'coordinator').getByRole('link', { name: 'coordinator' }).click();
    await page.waitForURL(/#\/runs\//);
    const child = page.url();
    await page.getByRole('link', { name: /^child of / }).click();
    await page.waitForURL((url) => url.href !== child);
    const runs = page.getByRole('group', { name: 'Child runs' });
    await runs.getByRole('link', { name: 'coordinator' }).waitFor();
    await runs.getByRole('listitem').getByRole('listitem').getByRole('link', { name: 'buyer' }).waitFor();
    assert.deepEqual(await tooWide(page), []);
    const asks = page.getByRole('region', { name: 'Child runs ask' });
    await asks.getByRole('button', { name: 'Approve' }).click();
    await asks.waitFor({ state: 'detached' });
    await page.getByRole('complementary').getByText('coordinator: buyer: Done: there').waitFor();
    await runs.getByText('done', { exact: true }).nth(1).waitFor();
    await looks(page);
  }),
  'what a child run asks names its parent among the calls that wait': on(async (page) => {
    await coordinates(page, 'researcher echo: prices | buyer approve: listed', 'listed');
    const base = page.url().replace(/#.*/, '');
    await page.goto(`${base}#/waiting`);
    const row = page.locator('.item').filter({ hasText: 'listed' });
    await row.getByRole('link', { name: /^run / }).waitFor();
    await row.locator('[data-row]').click();
    await looks(page);
    await page.getByRole('region', { name: 'Selected call' }).getByRole('link', { name: /^run / }).click();
    await page.waitForURL(/#\/runs\//);
    await page.getByRole('region', { name: 'Child runs ask' }).getByText('listed', { exact: true }).waitFor();
  }),
  ...Object.fromEntries([[1360, 'light'], [1360, 'dark'], [380, 'light'], [380, 'dark']].map(([width, colorScheme]) => [
    `a team has a good view, ${width} ${colorScheme}`,
    on(async (page) => {
      await coordinates(page, 'researcher slow: 200 | buyer approve: order', 'order');
      await tree(page, 'researcher').getByText(/w3 w4/).waitFor();
      await looks(page);
    }, { viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' }),
  ])),
});
