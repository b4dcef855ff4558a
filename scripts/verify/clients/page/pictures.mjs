// Makes the pictures of the page that README.md shows, in light and dark. Arguments: the
// host's address, the folder for the pictures.
import { launch, report, say, watched } from './browser.mjs';

const [url, folder] = process.argv.slice(2);
const browser = await launch();

await report({
  pictures: async () => {
    const { context, page, quiet } = await watched(browser, { viewport: { width: 1280, height: 720 }, deviceScaleFactor: 1.5 });
    await page.goto(url);
    const log = page.getByRole('log');
    await say(page, 'think: The customer returned order 1042, so a refund is due.');
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
