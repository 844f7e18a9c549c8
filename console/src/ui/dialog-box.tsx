/** A dialog over the page, with its title. Load it lazily: most pages open none. */
import type { ReactNode } from 'react'
import { Dialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { appTexts } from '../texts/app.ts'
import './button.css'
import './dialog-box.css'
import { Icon } from './icons/icon.tsx'

interface Props {
  title: string
  children: ReactNode
  /** Left out by a dialog that must be answered. */
  close?: () => void
  isAlert?: boolean
  /** For what is read rather than answered. */
  isWide?: boolean
}

export function DialogBox({ title, children, close, isAlert = false, isWide = false }: Props) {
  return (
    <ModalOverlay
      className="dialog-veil"
      isOpen
      isDismissable={close !== undefined}
      isKeyboardDismissDisabled={close === undefined}
      onOpenChange={(isOpen) => {
        if (!isOpen) close?.()
      }}
    >
      <Modal className={isWide ? 'dialog-frame wide' : 'dialog-frame'}>
        <Dialog className="dialog-box" role={isAlert ? 'alertdialog' : 'dialog'}>
          <header>
            <Heading slot="title">{title}</Heading>
            {close && (
              <button type="button" className="button quiet icon-only small" aria-label={appTexts.close} onClick={close}>
                <Icon name="x" />
              </button>
            )}
          </header>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
