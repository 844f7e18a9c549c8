/** What else can be done with a record. */
import type { RefObject } from 'react'
import { Menu, MenuItem } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { recordTexts } from '../texts/record/record.ts'
import '../ui/menu.css'

export interface MenuAction {
  label: string
  isDanger?: boolean
  run(): void
}

interface Props {
  anchor: RefObject<HTMLElement | null>
  actions: readonly MenuAction[]
  close(): void
}

export function RecordMenu({ anchor, actions, close }: Props) {
  return (
    <Popover triggerRef={anchor} isOpen onOpenChange={(isOpen) => !isOpen && close()} placement="bottom end" className="menu">
      <Menu
        aria-label={recordTexts.more}
        autoFocus="first"
        onAction={(label) => actions.find((action) => action.label === label)?.run()}
        onClose={close}
      >
        {actions.map(({ label, isDanger }) => (
          <MenuItem key={label} id={label} className={isDanger ? 'menu-item danger' : 'menu-item'}>
            {label}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  )
}
