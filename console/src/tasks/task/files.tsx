/** The files of a task: added by a button, by drop and by paste. */
import { useRef, useState } from 'react'
import { fileAddress, hasThumbnail, sizeText, thumbnailAddress } from '../../cells/file-facts.ts'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { Editing } from '../editing/use-editing.ts'
import type { OpenTask, TaskDetail } from './use-task.ts'

type Attachment = TaskDetail['attachments'][number]

interface Sending {
  key: number
  name: string
  sent: number
}

let keys = 0

/** Sends files one after the other, and adds each to the task as it is then. */
export function useTaskFiles({ task, change }: Editing, { save }: OpenTask) {
  const client = useClient()
  const [sending, setSending] = useState<readonly Sending[]>([])
  const [problem, setProblem] = useState<string | null>(null)
  const queue = useRef(Promise.resolve())
  const latest = useRef(task)
  latest.current = task

  const send = async (file: File, key: number) => {
    try {
      const onProgress = ({ sent, total }: { sent: number; total: number | null }) =>
        setSending((all) => all.map((one) => (one.key === key ? { ...one, sent: total ? sent / total : 0 } : one)))
      const stored = await client.upload('tasks.upload', { task_id: task.id }, file, { onProgress })
      let base = latest.current
      let saved = await save({ attachments: [...base.attachments, stored] }, base)
      // Somebody has added or removed a file meanwhile: theirs stay as they are.
      if (!saved.ok && saved.stale) {
        base = { ...base, ...saved.theirs }
        saved = await save({ attachments: [...base.attachments, stored] }, base)
      }
      if (!saved.ok) setProblem(saved.stale ? taskTexts.changedMeanwhile : saved.problem)
    } catch (error) {
      setProblem(`${file.name}: ${messageOf(error)}`)
    } finally {
      setSending((all) => all.filter((one) => one.key !== key))
    }
  }

  return {
    sending,
    problem,
    add(files: Iterable<File>) {
      setProblem(null)
      for (const file of files) {
        keys += 1
        const key = keys
        setSending((all) => [...all, { key, name: file.name, sent: 0 }])
        queue.current = queue.current.then(() => send(file, key))
      }
    },
    remove: (file: Attachment) =>
      void change({ attachments: task.attachments.filter(({ path }) => path !== file.path) }, taskTexts.without(file.name)),
  }
}

export function Files({ editing, files, locale }: { editing: Editing; files: ReturnType<typeof useTaskFiles>; locale: string }) {
  const { task, mayEdit } = editing
  const { sending, problem, add, remove } = files
  const field = useRef<HTMLInputElement>(null)
  return (
    <>
      {(task.attachments.length > 0 || sending.length > 0) && (
        <ul className="task-files">
          {task.attachments.map((file) => (
            <li key={file.path}>
              <a href={fileAddress(file.path)} target="_blank" rel="noopener">
                {hasThumbnail(file) ? <img src={thumbnailAddress(file.path, 160)} alt="" loading="lazy" /> : <Icon name="file" />}
                <span dir="auto">{file.name}</span> <small>{sizeText(file.size, locale)}</small>
              </a>
              {mayEdit && (
                <button
                  type="button"
                  className="button quiet icon-only small"
                  aria-label={taskTexts.removeFile(file.name)}
                  onClick={() => remove(file)}
                >
                  <Icon name="x" />
                </button>
              )}
            </li>
          ))}
          {sending.map(({ key, name, sent }) => (
            <li key={key}>
              <span dir="auto">{name}</span> <progress value={sent} aria-label={name} />
            </li>
          ))}
        </ul>
      )}
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {mayEdit && (
        <>
          <input
            ref={field}
            type="file"
            multiple
            hidden
            onChange={({ target }) => {
              add(target.files ?? [])
              target.value = ''
            }}
          />
          <button type="button" className="button small" onClick={() => field.current?.click()}>
            <Icon name="paperclip" /> {taskTexts.attach}
          </button>
        </>
      )}
    </>
  )
}
