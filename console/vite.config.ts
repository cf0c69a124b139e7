import { defineConfig } from 'vite';

/** The console: static files under /console/ that load nothing from elsewhere. `make setup` builds it into console/dist. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  logLevel: 'warn',
  // Elements as calls with their children as arguments compress to 1 % less than as objects of the JSX runtime.
  oxc: {
    jsx: { runtime: 'classic', pragma: 'createElement', pragmaFrag: 'Fragment' },
    jsxInject: `import { createElement, Fragment } from 'preact';`,
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // light-dark() as it is written: all three have it since May 2024.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A data: address in a script or a style would need an exception of the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One script compresses to a fifth less than one for each page.
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: false } },
    license: { fileName: 'assets/licenses.md' },
  },
});
