/**
 * Refuses JSON that would take long to parse for its size, before it is parsed: the parser blocks the process, and 10 MB of brackets or of
 * keys that all differ take it a second, ten times as long as the largest batch of records. Reading the bytes once takes 20 ms. The limits
 * are above what any operation takes, so the message does not say where in the body it is.
 */
import { randomInt } from 'node:crypto'
import { AppError } from '../../errors.ts'

/** A smaller body is parsed in a few milliseconds, whatever it holds. */
const LEAST_BYTES = 65_536
/** Inputs have at most 64 levels (text-encoding.ts), and a batch of RPC calls has some around each of them. */
const MOST_LEVELS = 100
/** 10 MB have no more objects as short as `{"id":1}`, a value of a multi_lookup field. */
const MOST_CONTAINERS = 1_200_000
/** A table has 300 fields, and the objects around its records have a few keys more. */
const MOST_KEYS = 2_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
/** Opening brackets with this bit are those of arrays and objects, `[` and `{`; closing ones are two more. */
const OPENING = 0x5b
const CLOSING = 0x5d
const CASE = 0x20
/** The bits that count different keys: of 20,000 keys, one in a hundred shares its bit with another one. */
const BITS = 20
/** The hash begins at random, so that nobody can prepare keys that share a bit. */
const SEED = randomInt(2 ** 32)
/** Of the hash FNV-1a, and of a multiplicative hash that brings all of its bits into the first ones. */
const PRIME = 0x01000193
const SPREAD = 0x9e3779b1

/**
 * @param mostKeys how many different keys all objects together may have
 * @throws AppError 400 if the JSON is nested too deeply, or has too many arrays, objects or different keys. Other faults are the parser's
 */
export function refuseCostlyJson(body: Buffer, mostKeys = MOST_KEYS): void {
  if (body.length < LEAST_BYTES) return
  const keys = new DifferentKeys(mostKeys)
  const brackets = new Brackets()
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] as number
    if (byte === QUOTE) at = keys.readString(body, at + 1)
    else if (byte === COLON) keys.add()
    else if ((byte & ~CASE) === OPENING) brackets.open()
    else if ((byte & ~CASE) === CLOSING) brackets.close()
  }
}

class Brackets {
  #levels = 0
  #count = 0

  open(): void {
    if (++this.#levels > MOST_LEVELS) throw tooMuch(`must not be nested deeper than ${MOST_LEVELS}`)
    if (++this.#count > MOST_CONTAINERS) throw tooMuch(`must have at most ${MOST_CONTAINERS} arrays and objects`)
  }

  close(): void {
    this.#levels--
  }
}

class DifferentKeys {
  readonly #most: number
  readonly #seen = new Uint8Array(2 ** (BITS - 3))
  #count = 0
  #hash = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Reads a string, which is a key if a colon follows it. @returns where its closing quote is */
  readString(body: Buffer, from: number): number {
    let hash = SEED
    let at = from
    for (; at < body.length && body[at] !== QUOTE; at++) {
      hash = Math.imul(hash ^ (body[at] as number), PRIME)
      if (body[at] === BACKSLASH) at++
    }
    this.#hash = hash
    return at
  }

  /** Counts the string that was read last. */
  add(): void {
    const bit = Math.imul(this.#hash, SPREAD) >>> (32 - BITS)
    const at = bit >>> 3
    const mask = 1 << (bit & 7)
    if ((this.#seen[at] as number) & mask) return
    this.#seen[at] = (this.#seen[at] as number) | mask
    if (++this.#count > this.#most) throw tooMuch(`must have at most ${this.#most} different keys`)
  }
}

const tooMuch = (reason: string) => new AppError('BAD_REQUEST', `The body ${reason}`)
