import './theme.css';
import { render } from 'preact';
import { startLive } from './api/live.ts';
import { startRouter } from './shell/router.ts';
import { Shell } from './shell/shell.tsx';
import { currentTheme, setTheme } from './shell/theme.ts';

setTheme(currentTheme());
startRouter();
startLive();
const app = document.getElementById('app');
if (app !== null) render(<Shell />, app);
