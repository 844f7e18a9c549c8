/** The registry of all field types. It is the only list of them: a new type needs a file in `types/` and a line here. */
import type { FieldTypeDefinition } from './field-type.ts'
import { checkbox } from './types/checkbox.ts'
import { date } from './types/date.ts'
import { datetime } from './types/datetime.ts'
import { file } from './types/file.ts'
import { lookup, multiLookup } from './types/lookup.ts'
import { number } from './types/number.ts'
import { multiSelect, select } from './types/select.ts'
import { email, longText, phone, text, url } from './types/text.ts'
import { time } from './types/time.ts'
import { multiUser, user } from './types/user.ts'

/** The documentation lists the types in this order. */
const REGISTRY = {
  text,
  long_text: longText,
  email,
  url,
  phone,
  number,
  checkbox,
  date,
  datetime,
  time,
  select,
  multi_select: multiSelect,
  user,
  multi_user: multiUser,
  lookup,
  multi_lookup: multiLookup,
  file,
} satisfies Record<string, FieldTypeDefinition>

export type FieldType = keyof typeof REGISTRY

/** The definition of each type. */
export const TYPES: Readonly<Record<FieldType, FieldTypeDefinition>> = REGISTRY

export const FIELD_TYPES = Object.keys(REGISTRY) as readonly FieldType[]
