// Makes the pictures of the page that README.md shows, in light and dark. Arguments: the
// host's address, the folder for the pictures.
import { launch, report, say, watched } from './browser.mjs';

const [url, folder] = process.argv.slice(2);
const browser = await launch();

await report({
  pictures: async () => {
    const { context, page, quiet } = await watched(browser, { viewport: { width: 1440, height: 860 }, deviceScaleFactor: 1.25 });
    await page.goto(url);
    const log = page.getByRole('log');
    await say(page, 'parallel: order 1042, the stock, the rules');
    await log.getByRole('article', { name: 'Agent' }).last().waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).waitFor({ state: 'detached' });
    await say(page, 'approve: refund 40 euros for order 1042');
    await log.getByRole('group', { name: 'Waiting: danger' }).waitFor();
    await quiet();
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${folder}/page-${colorScheme}.png`, animations: 'disabled' });
    }
    await context.close();
  },
});
await browser.close();
