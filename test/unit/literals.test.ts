import { describe, expect, test } from 'vitest'
import { Code, literal, shellWord } from '../../src/docs/literals.ts'

describe('literals of code samples', () => {
  test.each<[unknown, string, string]>([
    [null, 'null', 'None'],
    [true, 'true', 'True'],
    [1.5, '1.5', '1.5'],
    ['it\'s "x"\n', "'it\\'s \"x\"\\n'", '"it\'s \\"x\\"\\n"'],
    [[], '[]', '[]'],
    [{}, '{}', '{}'],
    [{ a: 1, 'b-c': [false] }, "{ a: 1, 'b-c': [false] }", '{"a": 1, "b-c": [False]}'],
    [{ a: new Code('x()') }, '{ a: x() }', '{"a": x()}'],
  ])('of %j', (value, typescript, python) => {
    expect([literal(value, 'typescript'), literal(value, 'python')]).toEqual([typescript, python])
  })

  test('break where a line would be long, indented as the language has it', () => {
    const value = { list: ['a'.repeat(40), 'b'.repeat(40)] }
    const [a, b] = value.list
    expect(literal(value, 'typescript')).toBe(`{\n  list: [\n    '${a}',\n    '${b}',\n  ],\n}`)
    expect(literal(value, 'python', 4)).toBe(`{\n        "list": [\n            "${a}",\n            "${b}",\n        ],\n    }`)
  })

  test.each([
    ['plain-1.txt', 'plain-1.txt'],
    ['{"a": "it\'s"}', `'{"a": "it'\\''s"}'`],
    ['', "''"],
    ['$HOME', "'$HOME'"],
  ])('quote %j for the shell', (text, word) => {
    expect(shellWord(text)).toBe(word)
  })
})
