/** Light or dark. It is kept in the browser, too, so that the page has it before the service answers. */

export type Theme = 'system' | 'light' | 'dark'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const KEPT = 'gridpost-theme'

export const readTheme = (stored: unknown): Theme => THEMES.find((theme) => theme === stored) ?? 'system'

export function showTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
  try {
    localStorage.setItem(KEPT, theme)
  } catch {
    // A browser that keeps nothing asks the service each time.
  }
}

/** Before anything else is shown. */
export function showKeptTheme(): void {
  try {
    showTheme(readTheme(localStorage.getItem(KEPT)))
  } catch {
    showTheme('system')
  }
}
