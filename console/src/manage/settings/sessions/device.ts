/** What a browser or program calls itself, in words that its user knows. */

/** The first that fits counts: browsers name those that they are like, too. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\/|\bOpera/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bElectron\//, 'An app'],
  [/\bHeadlessChrome\//, 'Chrome'],
  [/\bChromium\//, 'Chromium'],
  [/\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'Mac'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]
const PHONES: ReadonlySet<string> = new Set(['iPhone', 'iPad', 'Android'])
const MOST = 60

export interface Device {
  /** Null if it says nothing of itself. */
  program: string | null
  system: string | null
  isPhone: boolean
}

/** @param userAgent as the program calls itself; null if it does not */
export function deviceOf(userAgent: string | null): Device {
  const named = (list: typeof PROGRAMS) => list.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1] ?? null
  const system = named(SYSTEMS)
  const program = named(PROGRAMS) ?? ownName(userAgent)
  return { program, system, isPhone: system !== null && PHONES.has(system) }
}

/** `curl/8.5.0` is curl. Some programs call themselves by a sentence. */
function ownName(userAgent: string | null): string | null {
  const name = userAgent?.split('/', 1)[0]?.trim() ?? ''
  return name === '' ? null : name.length > MOST ? `${name.slice(0, MOST)}…` : name
}
