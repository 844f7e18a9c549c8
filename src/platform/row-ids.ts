/** The largest id that a column holds. No row has a larger one. */
export const MAX_ID = 2_147_483_647
