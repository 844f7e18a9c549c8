/** Files that are dropped or pasted anywhere onto a record: the field under them takes them, or the first that can. */
import { type ClipboardEvent, type DragEvent, useState } from 'react'
import type { Field } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { recordTexts } from '../../texts/record/record.ts'
import { announce } from '../../ui/announcer.ts'
import { toast } from '../../ui/toasts/toasts.ts'

export interface Dropped {
  field: string
  files: readonly File[]
}

/** @param editable the fields that one may change */
export function useDropping(editable: readonly Field[]) {
  const [dropped, setDropped] = useState<Dropped | undefined>(undefined)
  const [isOver, setIsOver] = useState(false)
  const takers = editable.filter((field) => cellKind(field).takesFiles)

  const take = (target: EventTarget, files: readonly File[]) => {
    const aimed = target instanceof Element ? target.closest<HTMLElement>('[data-takes-files]')?.dataset.field : undefined
    const field = takers.find(({ id }) => id === aimed) ?? takers[0]
    if (!field) return void toast(recordTexts.takesNoFiles)
    announce(recordTexts.adding(files.length, field.name))
    setDropped({ field: field.id, files })
  }
  return {
    dropped,
    isOver,
    handlers: {
      // A part of the record that takes files itself has said so by now.
      onDragOver(event: DragEvent) {
        if (event.defaultPrevented || !event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setIsOver(takers.length > 0)
      },
      onDragLeave(event: DragEvent) {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setIsOver(false)
      },
      onDrop(event: DragEvent) {
        setIsOver(false)
        const files = [...event.dataTransfer.files]
        if (event.defaultPrevented || files.length === 0) return
        event.preventDefault()
        take(event.target, files)
      },
      onPaste(event: ClipboardEvent) {
        const files = [...event.clipboardData.files]
        if (event.defaultPrevented || files.length === 0 || isTypedInto(event.target)) return
        event.preventDefault()
        take(event.target, files)
      },
    },
  }
}

export const isTypedInto = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable=true]') !== null
