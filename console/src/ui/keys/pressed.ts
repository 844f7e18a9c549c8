/** Names of pressed keys. */

/** What is read of a KeyboardEvent. */
interface Pressed {
  key: string
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  shiftKey: boolean
}

/** The keys as they are registered: `Ctrl+K`, `Shift+Space`, `?`. ⌘ counts as Ctrl, and Shift is not named if it makes the character. */
export function keysOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): string {
  const name = key === ' ' ? 'Space' : key.length === 1 ? key.toUpperCase() : key
  const isOther = key.length === 1 && key.toUpperCase() === key.toLowerCase() && key !== ' '
  return [ctrlKey || metaKey ? 'Ctrl+' : '', altKey ? 'Alt+' : '', shiftKey && !isOther ? 'Shift+' : '', name].join('')
}
