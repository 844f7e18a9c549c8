/** What the parts of every page say. */
export const uiTexts = {
  toasts: 'What has happened',
  closeToast: 'Close this message',
  leftOver: 'This cannot be saved any more.',
  copy: 'Copy',
  copied: 'Copied.',
  copyByHand: 'The browser does not let the page copy: the text is marked, press Ctrl+C.',
  discard: 'Discard',
} as const
