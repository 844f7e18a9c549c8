import { describe, expect, test } from 'vitest'
import { decodeBase64 } from '../../src/platform/bytes/base64.ts'
import { JsonUpload } from '../../src/platform/http/bodies/json-upload.ts'

/** Reads the body in chunks. @returns the value with its whole data, as JSON.parse has it */
function read(body: Buffer, sizeOf: () => number): unknown {
  const upload = new JsonUpload()
  const data: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const chunk = body.subarray(at, at + sizeOf())
    // A chunk is overwritten after it was read, so nothing may keep a part of it.
    const own = Buffer.from(chunk)
    data.push(Buffer.from(upload.read(own)))
    own.fill('?')
    at += chunk.length
  }
  const value = upload.end()
  if (!upload.hasData) return value
  return { ...(value as object), data: Buffer.concat(data).toString('latin1') }
}

/** A generator of numbers that are the same in every run. */
function numbers(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const outcomeOf = (fn: () => unknown) => {
  try {
    return { value: fn() }
  } catch (error) {
    return { refused: (error as Error).message }
  }
}

describe('the JSON of an upload', () => {
  test.each([
    ['its keys in any order', '{"data":"aGk=","name":"a","type":null}'],
    ['white space', ' {\n "name" : "a" ,\t"data"\r\n: "aGk="\n}\n'],
    ['an escaped key', '{"n\\u0061me":"a","d\\u0061ta":"aGk="}'],
    ['escapes in its data', '{"data":"a\\u0047k\\u003D\\/\\n\\r\\t\\"\\\\"}'],
    ['quotes, braces and data in other texts', '{"name":"{\\"data\\":\\"x\\"}","data":"aGk=","type":"]}"}'],
    ['data further inside', '{"type":{"data":"x","y":["data",{"data":"z"}]},"data":"aGk="}'],
    ['data that is no text', '{"data":[1,{"data":"x"}],"name":"a"}'],
    ['data that is no text, and another one', '{"data":5,"data":"aGk="}'],
    ['numbers and words before its data', '{"a":-1.5e3,"b":true,"c":null,"data":"x"}'],
    ['no data', '{"name":"größe 😀"}'],
    ['empty data', '{"data":""}'],
    ['a list', '["data",{"data":"x"}]'],
    ['a text', '"data"'],
    ['a byte order mark', '\ufeff{"data":"aGk="}'],
  ])('may have %s', (_, text) => {
    const body = Buffer.from(text)
    const expected = JSON.parse(text.replace('\ufeff', ''))
    for (const size of [1, 2, 3, 5, 1_000]) expect(read(body, () => size)).toEqual(expected)
  })

  test.each([
    ['ends early', '{"data":"aGk='],
    ['ends after its data', '{"data":"aGk="'],
    ['ends in an escape', '{"data":"aGk\\'],
    ['has an unknown escape', '{"data":"a\\x41"}'],
    ['has an incomplete escape', '{"data":"a\\u00"}'],
    ['has a line break in its data', '{"data":"aG\nk="}'],
    ['lacks a colon', '{"data""aGk="}'],
    ['has two colons', '{"data"::"aGk="}'],
    ['has two values', '{"data":"aGk=""aGk="}'],
    ['has a comma too many', '{"data":"aGk=",}'],
    ['has something behind it', '{"data":"aGk="}{}'],
    ['is nothing', ''],
  ])('is refused if it %s', (_, text) => {
    for (const size of [1, 2, 1_000]) expect(() => read(Buffer.from(text), () => size)).toThrow('The body is not valid JSON')
  })

  test('is refused with two texts as data, and with too much besides it', () => {
    expect(() => read(Buffer.from('{"data":"YQ==","data":"Yg=="}'), () => 7)).toThrow('data: is given twice')
    const large = `{"name":"${'a'.repeat(1_100_000)}","data":""}`
    expect(() => read(Buffer.from(large), () => 65_536)).toThrow('The body must have at most 1048576 bytes besides data')
  })

  test('is refused with bytes that are not UTF-8', () => {
    expect(() => read(Buffer.from('{"name":"\xff","data":""}', 'latin1'), () => 3)).toThrow('The body is not valid UTF-8')
  })

  test('knows the keys before its data while that arrives', () => {
    const upload = new JsonUpload()
    upload.read(Buffer.from('{"field_id":"file","name":"a\\"b","data":"aG'))
    expect(upload.keysBefore()).toEqual({ field_id: 'file', name: 'a"b', data: '' })
  })

  test('is what JSON.parse makes of it, whatever it is and wherever its chunks end', () => {
    const random = numbers(7)
    const pick = <T>(values: readonly T[]) => values[random(values.length)] as T
    const parts = [
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"',
      '"data"',
      '"name"',
      '"data":',
      '"a\\u0062"',
      '"ä😀"',
      '\\',
      'null',
      '12',
      ' ',
      '"aGk="',
    ]
    const key = () => pick(['"name"', '"type"', '"field_id"', '"x"', '"d"', '"dat\\u0061x"'])
    const value = () => pick(['"a"', '"\\ud83d\\ude00"', '"é\\\\"', 'null', '[1,"data"]', '{"data":"x"}', '-0.5', '"data"', '""'])
    const data = () => pick(['"aGVsbG8="', '""', '"a\\/b\\u002b"', '"aGk=\\r\\naGk="', 'null', '7'])
    const whole = () => {
      const members = Array.from({ length: random(4) }, () => `${key()}:${value()}`)
      members.splice(random(members.length + 1), 0, `${pick(['"data"', '"d\\u0061t\\u0061"'])}${pick(['', ' '])}:${data()}`)
      return `{${members.join(pick([',', ' , ']))}}`
    }
    let accepted = 0
    for (let run = 0; run < 4_000; run++) {
      let text = run % 2 ? whole() : Array.from({ length: random(9) }, () => pick(parts)).join('')
      if (run % 3 === 0) text = text.slice(0, random(text.length)) + pick(parts) + text.slice(random(text.length))
      text = text.toWellFormed()
      const expected = outcomeOf(() => JSON.parse(text))
      const found = outcomeOf(() => read(Buffer.from(text), () => 1 + random(6)))
      if (found.refused === 'data: is given twice') continue
      if ('value' in expected) {
        accepted++
        // The bytes of data beyond ASCII are no base64, so they only have to be refused later.
        expect(found, text).toEqual(expected)
      } else expect(found, text).toHaveProperty('refused')
    }
    expect(accepted).toBeGreaterThan(1_000)
  })
})

describe('base64', () => {
  const decode = (text: string) => decodeBase64(text, () => new Error('must be base64'))

  test.each(['', 'aGk=', 'aGk', 'aGk\n=\n', 'aG\r\nk=\r\n', '_-8=', '/+8=', 'aGVs=', 'aGk=='])('may be %j', (text) => {
    expect(decode(text)).toEqual(Buffer.from(text, 'base64'))
  })

  test.each(['a', 'aGk=a', 'aGk a', 'aG*k', 'aGkŁ', '\u{10141}AAA', 'aGVsb', '=aGk', 'aGk\0', 'aGk\t='])('cannot be %j', (text) => {
    expect(() => decode(text)).toThrow('must be base64')
  })
})
