import type { Locator, Page } from 'playwright-core';

const pressesMax = 200;

/** Presses Tab until the control has the focus, as a reader without a mouse does. Throws where no Tab leads to it. */
export const tabTo = async (page: Page, control: Locator): Promise<void> => {
  await control.waitFor();
  const focused = control.and(page.locator(':focus'));
  for (let presses = 0; presses < pressesMax; presses++) {
    if ((await focused.count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no Tab leads to ${control}`);
};

/** Goes to a button or a link by Tab, and presses Enter. */
export const pressByKey = async (page: Page, control: Locator): Promise<void> => {
  await tabTo(page, control);
  await page.keyboard.press('Enter');
};

/** Goes to a field by Tab, and types into it in the place of what it has. */
export const typeByKey = async (page: Page, field: Locator, text: string): Promise<void> => {
  await tabTo(page, field);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
};
