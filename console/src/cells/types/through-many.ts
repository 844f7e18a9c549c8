/** Fields of linked records through a multi_lookup: a cell holds the value of each linked record, in the order of the links. */
import type { CellText, Value } from '../kind.ts'
import { joinList } from '../list-text.ts'

/** The type of such a field, whose cells are lists of those of the field itself. They cannot be edited. */
export function throughMany(one: CellText): CellText {
  const filledOf = (value: Value) => (Array.isArray(value) ? value : [value]).filter(one.filled)
  return {
    ...one,
    align: 'left',
    toText: (value, field, place) => joinList(filledOf(value).map((each) => one.toText(each, field, place))),
    toHtml: (value, field, place) =>
      filledOf(value)
        .map((each) => one.toHtml(each, field, place))
        .join(', '),
    filled: (value) => filledOf(value).length > 0,
  }
}
