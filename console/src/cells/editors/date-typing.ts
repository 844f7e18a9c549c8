/** How dates, instants and times are typed: a day alone keeps the time that is there, and what the text means is said while it is typed. */
import type { EditorProps } from '../cell-kind.ts'
import type { DateForms } from '../types/dates.ts'
import { anyText, isText } from '../values.ts'
import type { Typing } from './typed-editor.tsx'

export function dateTyping(forms: DateForms, Below?: Typing['Below']): Typing {
  const read = (text: string, { surroundings, value }: EditorProps) =>
    text.trim() === '' ? { value: null } : forms.read(text, surroundings, isText(value) ? value : null)
  return {
    textOf: (value, { surroundings }) => (isText(value) ? forms.typed(value, surroundings) : anyText(value)),
    parse: (text, editor) => {
      const found = read(text, editor)
      return 'problem' in found ? found : { value: found.value }
    },
    noteOn: (text, editor) => {
      const found = read(text, editor)
      if ('problem' in found || found.value === null) return null
      return [forms.meant(found.value, editor.surroundings), 'note' in found && found.note].filter(Boolean).join('. ')
    },
    placeholder: ({ surroundings }) => forms.example(surroundings),
    ...(Below && { Below }),
  }
}
