/** What is said of dates and times: of those that are typed or pasted, and of instants that are shown. */
export const dateTexts = {
  noDate: (text: string) => `“${text}” is not a date`,
  noDay: (text: string) => `“${text}” is not a day that exists`,
  noTime: (text: string) => `“${text}” is not a time of day`,
  noInstant: (text: string) => `“${text}” is not a date and a time`,
  outOfYears: 'The date is outside of the years 1 to 9999',
  twice: (time: string) => `${time} comes twice on that day, as clocks go back; this is the first`,
  skipped: (time: string, later: string) => `Clocks skip ${time} on that day; it becomes ${later}`,
  yesterday: (time: string) => `yesterday ${time}`,
  tomorrow: (time: string) => `tomorrow ${time}`,
} as const
