/** The users whom the cells of a conversion name, which are read before where the cells are on another server. */
import type { TableDef } from '../fields/definition.ts'
import type { ConversionPlace, ConversionUsers } from '../fields/field-type.ts'
import { type FieldType, TYPES } from '../fields/registry.ts'
import { selectConversionUsers } from '../fields/types/user.ts'
import type { Database } from '../platform/database/database.ts'
import { choose } from '../tables/elsewhere/choice.ts'

/** @param types the types before and after the conversion; users are read beforehand only for cells on another server that name them */
export async function placeOf(db: Database, table: TableDef, timeZone: string, types: readonly FieldType[]): Promise<ConversionPlace> {
  const { id, account_id, space_id } = table
  const place = { account_id, space_id, timeZone }
  if (!types.some((type) => TYPES[type].names === 'users')) return place
  return choose(db, id, { here: async () => place, elsewhere: () => withUsers(db, place) })()
}

async function withUsers(db: Database, place: ConversionPlace): Promise<ConversionPlace> {
  const [users] = await db.read<ConversionUsers>(selectConversionUsers(place))
  return { ...place, users }
}
