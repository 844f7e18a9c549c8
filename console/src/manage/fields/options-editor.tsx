/** The options of a select: their titles in order, each with its color. */
import { fieldTexts } from '../../texts/manage/fields.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { COLORS, type Color, movedUp, type OptionDraft, withOption } from './field-draft.ts'

interface Props {
  options: readonly OptionDraft[]
  change(options: OptionDraft[]): void
  problem: string | undefined
}

export function OptionsEditor({ options, change, problem }: Props) {
  const set = (key: number, changes: Partial<OptionDraft>) =>
    change(options.map((option) => (option.key === key ? { ...option, ...changes } : option)))
  return (
    <fieldset className="options-editor">
      <legend>{fieldTexts.options}</legend>
      <ol>
        {options.map(({ key, title, color, was }, at) => (
          <li key={key}>
            <select
              className="chip"
              data-color={color ?? 'none'}
              aria-label={fieldTexts.colorOf(title)}
              value={color ?? ''}
              onChange={({ target }) => set(key, { color: (target.value || null) as Color | null })}
            >
              <option value="">{fieldTexts.noColor}</option>
              {COLORS.map((each) => (
                <option key={each} value={each}>
                  {fieldTexts.colors[each]}
                </option>
              ))}
            </select>
            <input
              aria-label={fieldTexts.option(at + 1)}
              value={title}
              dir="auto"
              // biome-ignore lint/a11y/noAutofocus: the option was added by the person, who types its title next.
              autoFocus={was === null && title === ''}
              onChange={({ target }) => set(key, { title: target.value })}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || event.nativeEvent.isComposing || !title.trim()) return
                event.preventDefault()
                change(withOption(options))
              }}
            />
            <button
              type="button"
              className="button quiet icon-only small"
              aria-label={fieldTexts.moveUp(title)}
              disabled={at === 0}
              onClick={() => change(movedUp(options, key))}
            >
              <Icon name="arrow-up" />
            </button>
            <button
              type="button"
              className="button quiet icon-only small"
              aria-label={fieldTexts.removeOption(title)}
              onClick={() => change(options.filter((option) => option.key !== key))}
            >
              <Icon name="x" />
            </button>
          </li>
        ))}
      </ol>
      <button type="button" className="button small" onClick={() => change(withOption(options))}>
        <Icon name="plus" /> {fieldTexts.addOption}
      </button>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  )
}
