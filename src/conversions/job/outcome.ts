/** The ways in which a conversion ends without success. */
import { AppError } from '../../platform/errors.ts'
import type { ConversionFigures } from '../schema.ts'

/** Failing cells that were found only while cells were converted. */
type LateFailures = Omit<ConversionFigures, 'converts'>

/** Thrown to end a conversion. The field keeps its type and its cells; the message is the job's `error`. */
export class ConversionEnded extends Error {
  readonly state: 'refused' | 'failed' | 'cancelled'
  readonly lateFailures: LateFailures | undefined

  constructor(state: ConversionEnded['state'], message: string, lateFailures?: LateFailures) {
    super(message)
    this.state = state
    this.lateFailures = lateFailures
  }
}

export const tableDeleted = () => new ConversionEnded('cancelled', 'The table has been deleted')
export const fieldDeleted = () => new ConversionEnded('cancelled', 'The field has been deleted')
export const jobCancelled = () => new ConversionEnded('cancelled', 'The job was cancelled')
export const fieldChanged = () => new ConversionEnded('failed', 'The field has been changed')

/** @param late the cells that were found only during the conversion, so that the figures of the job do not include them */
export function cellsFail(failing: number, late?: LateFailures): ConversionEnded {
  const message = failing === 1 ? '1 cell cannot be converted' : `${failing} cells cannot be converted`
  return new ConversionEnded('refused', `${message}; send drop_failing: true to empty ${failing === 1 ? 'it' : 'them'}`, late)
}

const MAX_ATTEMPTS = 10

/**
 * Runs an attempt of a job. Ends the conversion if the attempt throws ConversionEnded, or if the last attempt fails.
 * @param attempts the number of times that the job has been started
 * @throws any error that a retry may avoid, and the error of the last attempt
 */
export async function attempt(
  attempts: number,
  work: () => Promise<void>,
  end: (outcome: ConversionEnded) => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    const outcome = outcomeOf(error)
    if (outcome) return await end(outcome)
    if (attempts >= MAX_ATTEMPTS) await end(new ConversionEnded('failed', `The conversion failed ${attempts} times`))
    throw error
  }
}

function outcomeOf(error: unknown): ConversionEnded | undefined {
  if (error instanceof ConversionEnded) return error
  if (!(error instanceof AppError)) return undefined
  if (error.code === 'NOT_FOUND') return tableDeleted()
  return error.code === 'CONFLICT' ? new ConversionEnded('refused', error.message) : undefined
}
