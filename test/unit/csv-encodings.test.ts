import { describe, expect, test } from 'vitest'
import { asText, decidingCharset, type SaidEncoding } from '../../src/csv/reading/encodings.ts'

async function decoded(chunks: Iterable<Uint8Array>, said: SaidEncoding = {}) {
  const [parts, encodings]: [string[], string[]] = [[], []]
  async function* bytes() {
    yield* chunks
  }
  for await (const part of asText(bytes(), said, (found) => void encodings.push(found))) parts.push(part)
  expect(encodings.length).toBeLessThanOrEqual(1)
  return { text: parts.join(''), encoding: encodings[0], longest: Math.max(0, ...parts.map(({ length }) => length)) }
}

/** Decodes a file as a whole, in two parts cut at every byte, and byte by byte, all with the same result. */
async function decodedHoweverItComes(file: Buffer, said: SaidEncoding = {}) {
  const { text, encoding } = await decoded([file], said)
  for (let cut = 0; cut <= file.length; cut++)
    expect(await decoded([file.subarray(0, cut), file.subarray(cut)], said)).toMatchObject({ text, encoding })
  expect(
    await decoded(
      Array.from(file, (byte) => Uint8Array.of(byte)),
      said,
    ),
  ).toMatchObject({ text, encoding })
  return { text, encoding }
}

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const refusal = (file: Buffer) =>
  decoded([file]).then(
    ({ text }) => text,
    ({ message }) => message,
  )

describe('a file without a byte order mark', () => {
  test('is windows-1252 if it is not valid UTF-8', async () => {
    expect(await decodedHoweverItComes(latin1('Name;Preis\nM\xfcller;5 \x80\n\x84Caf\xe9\x93 \x96 \xa0\xff'))).toEqual({
      text: 'Name;Preis\nMüller;5 €\n„Café“ – \u00a0ÿ',
      encoding: 'windows-1252',
    })
    // The last letter alone decides, even if it begins a character of UTF-8, and even if earlier bytes happen to be UTF-8.
    expect(await decodedHoweverItComes(latin1('Name\nRen\xe9'))).toEqual({ text: 'Name\nRené', encoding: 'windows-1252' })
    expect(await decodedHoweverItComes(latin1('CAF\xc9\xa0: \x93CAF\xc9\x94\ncaf\xe9\n'))).toEqual({
      text: 'CAFÉ\u00a0: “CAFÉ”\ncafé\n',
      encoding: 'windows-1252',
    })
  })

  test('is UTF-8 whenever it can be', async () => {
    for (const text of ['Name\nMüller\n', 'é', '€', '😀 Ünï', '\u0080\u0093', ''])
      expect(await decodedHoweverItComes(Buffer.from(text))).toEqual({ text, encoding: text === '' ? undefined : 'UTF-8' })
    expect(await decodedHoweverItComes(Buffer.from('Name\nBolt\n'))).toEqual({ text: 'Name\nBolt\n', encoding: undefined })
  })

  test('is decided by the first MB from its first letter beyond ASCII on, wherever that is', async () => {
    const ascii = 'x'.repeat(2_500_000)
    const late = await decoded([latin1(`${ascii}\xe9`)])
    expect([late.text === `${ascii}é`, late.encoding]).toEqual([true, 'windows-1252'])
    const many = latin1(`\xc3\xa9${ascii.slice(0, 1_000_000)}\xe9${ascii}\xfc`)
    expect(await decoded([many])).toMatchObject({ encoding: 'windows-1252' })
    const broken = latin1(`\xc3\xa9${ascii}\xe9`)
    expect(await refusal(broken)).toBe('The file is not valid UTF-8')
    // A character at the border of the MB is not taken for an invalid one.
    for (const filled of [1_048_573, 1_048_574, 1_048_575, 1_048_576])
      expect(await decoded([Buffer.from(`é${'x'.repeat(filled)}é`)])).toMatchObject({ encoding: 'UTF-8' })
    expect((await decoded([latin1(`\xe9${ascii}`)])).longest).toBeLessThan(1_500_000)
  })

  test('is refused if it is neither', async () => {
    const neither = 'The file is not valid UTF-8 or windows-1252'
    for (const text of ['a\xe9\x81', 'a\xe9\x8d', 'a\xe9\0', 'a\xe9\x01', '\x89PNG\r\n\x1a\n\0\0'])
      expect(await refusal(latin1(text))).toBe(neither)
    // An undefined byte far behind the decision.
    expect(await refusal(latin1(`\xe9${'x'.repeat(1_100_000)}\x9d`))).toBe(neither)
    expect(await refusal(Buffer.from('Name\nö\n', 'utf16le'))).toBe(neither)
  })
})

test('a byte order mark is believed', async () => {
  expect(await decodedHoweverItComes(Buffer.from('\uFEFFName\nZoë', 'utf16le'))).toEqual({ text: 'Name\nZoë', encoding: 'UTF-16' })
  expect(await decodedHoweverItComes(Buffer.from('\uFEFFName\nZoë'))).toEqual({ text: 'Name\nZoë', encoding: 'UTF-8' })
  expect(await refusal(latin1('\xef\xbb\xbfa\xe9'))).toBe('The file is not valid UTF-8')
})

describe('text that is not UTF-8', () => {
  /** The bytes of a text, by what they are read as. */
  function encoded(label: string, text: string): Buffer {
    const decoder = new TextDecoder(label, { fatal: true })
    const bytesOf = new Map<string, number[]>()
    const learn = (bytes: number[]) => {
      try {
        const read = decoder.decode(Uint8Array.from(bytes))
        if (!bytesOf.has(read)) bytesOf.set(read, bytes)
      } catch {
        // These bytes are no character.
      }
    }
    for (let first = 0; first < 256; first++) learn([first])
    for (let first = 0x81; first < 0xff; first++) for (let second = 0x40; second < 0xff; second++) learn([first, second])
    return Buffer.from(
      [...text].flatMap((character) => {
        const bytes = bytesOf.get(character)
        if (!bytes) throw new Error(`${label} has no ${character}`)
        return bytes
      }),
    )
  }

  test.each<[string, string]>([
    ['gbk', '姓名,城市\n张三,北京\n李四,上海\n'],
    ['gbk', '产品,价格\n苹果,3\n'],
    ['gbk', `标题\n${'这是一个很长的句子没有任何空格'.repeat(20)}\n`],
    ['big5', '姓名,城市\n王小明,台北\n'],
    ['shift_jis', '商品,価格\nりんご,3\nテレビ,5\n'],
    ['euc-jp', '商品,価格\nりんご,3\n'],
    ['euc-kr', '이름,도시\n김철수,서울\n'],
    ['windows-1251', 'Назва;Ціна\nХліб;їжа\n'],
    ['windows-1251', 'АДРЕС\nУЛ. ЛЕНИНА\n'],
    ['koi8-r', 'Товар;Цена\nХлеб;10\n'],
    ['ibm866', 'имя,город\nИван,Москва\n'],
    ['windows-1253', 'όνομα,πόλη\nΓιώργος,Αθήνα\n'],
    ['windows-1255', 'שם,עיר\nדוד,ירושלים\n'],
    ['windows-1256', 'الاسم,المدينة\nمحمد,القاهرة\n'],
    ['windows-874', 'ชื่อ,เมือง\nสมชาย,กรุงเทพ\n'],
    ['windows-1250', 'imię,miasto\nWałęsa,Łódź\nMichał,Gdańsk\n'],
    ['iso-8859-2', 'imię,miasto\nWałęsa,Łódź\nMichał,Gdańsk\n'],
    ['windows-1250', 'jméno,město\nDvořák,Plzeň\nNováček,Brno\nJiří,Ústí\n'],
    ['windows-1250', 'név,város\nErdős,Győr\nTűzkő,Szűcs\n'],
    ['windows-1250', 'nume,oraş\nŞtefan,Bucureşti\nIonuţ,Iaşi\n'],
    ['windows-1254', 'isim,şehir\nIşık,İstanbul\nÇınar,Eskişehir\nGüneş,Muğla\n'],
    ['macintosh', 'Name,Stadt\nMüller,München\nSchön,Köln\n'],
  ])('in %s is not taken for windows-1252: %j', async (label, text) => {
    const bytes = encoded(label, text)
    expect(await refusal(bytes)).toContain(label)
    expect(await decodedHoweverItComes(bytes, { encoding: label })).toMatchObject({ text })
    expect(await decodedHoweverItComes(bytes, { charset: label })).toMatchObject({ text })
  })

  test.each([
    'nom,ville\nJosé,Orléans\nFrançois,Besançon\nNoël,Île,créée,œuvre,Œdipe,où,à\n',
    'Straße,STRAßE,GRÖßE,Öl,Äpfel,größer,Übersicht,ä\n„Café“ – „Tür“\n',
    'Þór,Hafnarfjörður,það,æði,áður,Jón Sigurðsson,Björk Guðmundsdóttir\n',
    'öö,jäääär,õun,Tõnu,Öö,töö,Pärnu\n',
    'nº,1º,2ª,m²,cm³,25°C,±5,½,¼,µm,µF,3×4,Gesamt¹\n',
    'Århus,Ærø,Søren,Tromsø,Ångström,Kjærgård,ÅSA\n',
    'São Paulo,João,corações,opções,avó,além,IRMÃOS\n',
    'Niño,¿Qué?,¡Hola!,España,Muñoz,pingüino,GARCÍA,ÑANDÚ\n',
    'perché,città,più,è,né\n',
    'l’été,d’Évora,O´Brien,wait…what,Foo™,Bar®,© 2020\n',
    'Tomáš,Škoda,Žižka\n',
    'coöperatie,één,Curaçao,reünie,col·legi,açò,Shqipëri,tân\n',
    '£5,€20,¥100,5€,§5\n',
    'Søren,José,Müller,Françoise,Þór,Núñez,João,Zoë,Bjørn\n',
    'à\n',
  ])('in a language of western Europe is windows-1252: %j', async (text) => {
    expect(await decodedHoweverItComes(encoded('windows-1252', text))).toEqual({ text, encoding: 'windows-1252' })
  })
})

describe('what is said of the encoding', () => {
  test('decides: the encoding over all, a charset unless there is a mark', async () => {
    const marked = Buffer.from('\uFEFFé')
    expect(await decoded([marked], { charset: 'koi8-r' })).toMatchObject({ text: 'é', encoding: 'UTF-8' })
    expect(await decoded([marked], { encoding: 'iso-8859-1' })).toMatchObject({ text: 'ï»¿Ã©', encoding: 'windows-1252' })
    for (const swapped of [Buffer.from('\uFEFFé', 'utf16le'), Buffer.from('\uFEFFé', 'utf16le').swap16()])
      expect(await decoded([swapped], { encoding: 'utf-16' })).toMatchObject({ text: 'é', encoding: 'UTF-16' })
    expect(await decoded([Buffer.from('é', 'utf16le').swap16()], { charset: 'utf-16be' })).toMatchObject({ text: 'é' })
  })

  test('is only a hint for what programs say of all files', () => {
    for (const label of ['utf-8', 'UTF-8', 'utf8', 'us-ascii']) expect(decidingCharset(label)).toBeUndefined()
    expect(decidingCharset('gbk')).toBe('gbk')
  })
})
