/** What can be done with a table: the menu that opens once it is loaded, behind the button that it takes the place of. */

import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { tableTexts } from '../../texts/manage/fields.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import '../../ui/button.css'
import '../../ui/menu.css'

export function TableMenu({ name, actions }: { name: string; actions: Readonly<Record<string, () => void>> }) {
  return (
    <MenuTrigger defaultOpen>
      <Button className="button quiet icon-only small" aria-label={tableTexts.menu(name)}>
        <Icon name="ellipsis" />
      </Button>
      <Popover placement="bottom start" className="menu">
        <Menu aria-label={tableTexts.menu(name)} onAction={(action) => actions[String(action)]?.()}>
          {Object.keys(actions).map((action) => (
            <MenuItem key={action} id={action} className="menu-item">
              {action}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
