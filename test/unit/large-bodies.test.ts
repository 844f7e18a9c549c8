import { describe, expect, it } from 'vitest'
import { openGate } from '../../src/platform/http/large-bodies.ts'

/** Whether it resolves without anything else happening. */
const isIn = async (entered: Promise<void>) => {
  let inside = false
  entered.then(
    () => {
      inside = true
    },
    () => {},
  )
  await Promise.resolve()
  await Promise.resolve()
  return inside
}

describe('the gate for large bodies', () => {
  it('lets so many in at once, and the others in their order', async () => {
    const gate = openGate(2)
    const [a, b, c, d] = [gate.enter(), gate.enter(), gate.enter(), gate.enter()]
    expect([await isIn(a.entered), await isIn(b.entered), await isIn(c.entered)]).toEqual([true, true, false])
    b.release()
    b.release()
    expect([await isIn(c.entered), await isIn(d.entered)]).toEqual([true, false])
    a.release()
    expect(await isIn(d.entered)).toBe(true)
    for (const one of [c, d]) one.release()
    expect([await isIn(gate.enter().entered), await isIn(gate.enter().entered), await isIn(gate.enter().entered)]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('forgets who has gone while waiting', async () => {
    const gate = openGate(1)
    const [a, b, c] = [gate.enter(), gate.enter(), gate.enter()]
    b.release()
    await expect(b.entered).rejects.toThrow('The caller has gone')
    a.release()
    expect(await isIn(c.entered)).toBe(true)
  })

  it('does not let anyone wait without end', async () => {
    const gate = openGate(1, { waitMs: 1 })
    const inside = gate.enter()
    const late = gate.enter()
    await expect(late.entered).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 5 })
    late.release()
    inside.release()
    expect(await isIn(gate.enter().entered)).toBe(true)
  })
})
