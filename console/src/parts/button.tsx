import type { ButtonHTMLAttributes } from 'preact';

/** A button that acts by itself: it sends no form. */
export const Button = (props: ButtonHTMLAttributes<HTMLButtonElement>) => <button type="button" {...props} />;
