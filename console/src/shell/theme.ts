const key = 'tidemark.theme';

export type Theme = 'auto' | 'light' | 'dark';

/** The chosen scheme; `auto` follows the system. */
export const currentTheme = (): Theme => {
  const kept = localStorage.getItem(key);
  return kept === 'light' || kept === 'dark' ? kept : 'auto';
};

/** Keeps and shows a scheme. Called before the first drawing, so that nothing flashes. */
export const setTheme = (theme: Theme): void => {
  localStorage.setItem(key, theme);
  document.documentElement.classList.remove('light', 'dark');
  if (theme !== 'auto') document.documentElement.classList.add(theme);
};
