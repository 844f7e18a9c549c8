import { ICON_PATHS, type IconName } from './icon-paths.ts'

/** An icon beside a text or in a control that has a name: it has none itself. Its size is that of the text around it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={ICON_PATHS[name]} />
    </svg>
  )
}
