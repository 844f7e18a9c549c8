/** What is said of numbers that are typed or pasted. */
export const numberTexts = {
  noNumber: (text: string) => `“${text}” is not a number`,
  outOfRange: 'The number must lie within ±10^15',
} as const
