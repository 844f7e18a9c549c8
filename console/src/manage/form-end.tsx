/** What stands below the fields of a form: what is wrong as a whole, and the button that sends it. */
import type { ReactNode } from 'react'

interface Props {
  form: { problems: { form?: string | undefined }; isBusy: boolean }
  action: string
  children?: ReactNode
}

export function FormEnd({ form, action, children }: Props) {
  return (
    <>
      <p className="problem" role="alert">
        {form.problems.form}
      </p>
      <p className="form-end">
        {children}
        <button type="submit" className="button primary" aria-disabled={form.isBusy}>
          {action}
        </button>
      </p>
    </>
  )
}
