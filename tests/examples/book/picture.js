// Makes the picture of the book that README shows: the workshop, when its first training has ended.
//
//     node picture.js BOOK PICTURE.png

const path = require('node:path');
const { chromium } = require(process.env.PLAYWRIGHT ?? 'playwright-core');

const [book, picture] = process.argv.slice(2);
const width = 880;

async function main() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'],
  });
  const page = await browser.newPage({ viewport: { width, height: 900 }, reducedMotion: 'reduce', colorScheme: 'light' });
  await page.goto(`file://${path.resolve(book, 'workshop.html')}`);
  const figure = page.locator('main figure').first();
  await figure.locator('[name=train]').click();
  await page.waitForFunction(() => /step 600\b/i.test(document.querySelector('train-it').textContent), null, { timeout: 0 });
  await page.waitForTimeout(1000);
  const [begin, end] = [await figure.boundingBox(), await figure.locator('map-choice').boundingBox()];
  await page.screenshot({ path: picture, fullPage: true, clip: { ...begin, height: end.y + end.height + 16 - begin.y } });
  await browser.close();
}

main().catch((error) => {
  console.error(`picture: ${error.message}`);
  process.exit(1);
});
