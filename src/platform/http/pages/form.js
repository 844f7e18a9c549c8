// Runs in the page of a form (form-page.ts): reads the link, sends the form to its operation, and shows what comes of it.
const form = document.querySelector('form')
const button = form.querySelector('button[type=submit]')
const inputs = [...form.querySelectorAll('input[name]')]
const { operation, hasToken, sendsTimeZone } = form.dataset
const { title } = document
let token = ''

/** Begins anew with the link in the address, also when another link is opened in the same tab. */
function begin() {
  form.reset()
  reveal(false)
  markAll(new Map())
  const [first, ...rest] = location.hash.slice(1).split('&')
  token = first
  const email = new URLSearchParams(rest.join('&')).get('email') ?? ''
  const username = form.querySelector('[autocomplete=username]')
  if (username) username.value = email
  fill({ email })
  for (const intro of document.querySelectorAll('.intro')) intro.hidden = email === '' && intro.querySelector('[data-value=email]') !== null
  const isComplete = hasToken === undefined || /^[\w-]{43}$/.test(token)
  for (const input of inputs) input.disabled = !isComplete
  button.disabled = !isComplete
  say(isComplete ? '' : 'This link is incomplete. Open it again from the mail, or copy all of it.')
  show('ask')
  document.title = title
}

/** Writes values where the texts of the page name them. */
function fill(values) {
  for (const place of document.querySelectorAll('[data-value]'))
    if (typeof values[place.dataset.value] === 'string') place.textContent = values[place.dataset.value]
}

function show(id) {
  for (const section of document.querySelectorAll('main > section')) section.hidden = section.id !== id
}

/** Shows a section in place of the form, and lets screen readers begin with it. */
function replaceBy(id) {
  show(id)
  const heading = document.querySelector(`#${id} h1`)
  document.title = `${heading.textContent} · Gridpost`
  heading.focus()
}

/** Says what is wrong with the whole form. */
const say = (text) => {
  document.getElementById('problem').textContent = text
}

function mark(input, text) {
  document.getElementById(`${input.id}-wrong`).textContent = text
  if (text) input.setAttribute('aria-invalid', 'true')
  else input.removeAttribute('aria-invalid')
}

/** Marks the inputs with their problems, and goes to the first of them. */
function markAll(problems) {
  for (const input of inputs) mark(input, problems.get(input) ?? '')
  const [first] = problems.keys()
  first?.focus()
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

function reveal(isShown) {
  for (const toggle of form.querySelectorAll('.reveal')) {
    const input = toggle.parentElement.querySelector('input')
    input.type = isShown ? 'text' : 'password'
    toggle.firstChild.textContent = isShown ? 'Hide' : 'Show'
  }
}

for (const toggle of form.querySelectorAll('.reveal'))
  toggle.addEventListener('click', () => reveal(toggle.parentElement.querySelector('input').type === 'password'))
for (const input of inputs) input.addEventListener('input', () => mark(input, ''))

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  say('')
  const wrong = inputs.filter((input) => !input.validity.valid)
  markAll(new Map(wrong.map((input) => [input, input.dataset.wrong])))
  if (wrong.length) return
  // A password manager does not take a password from a text field.
  reveal(false)
  button.disabled = true
  try {
    await send()
  } catch {
    say('Gridpost cannot be reached at the moment. Your input is still here: try again in a minute.')
  } finally {
    button.disabled = false
  }
})

async function send() {
  const values = Object.fromEntries(new FormData(form))
  const answer = await fetch(operation, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...values,
      ...(hasToken !== undefined && { token }),
      ...(sendsTimeZone !== undefined && { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
    }),
  })
  const body = await answer.json()
  if (!answer.ok) return refused(body)
  fill({ ...values, ...body })
  replaceBy('done')
}

function refused({ message, issues = [] }) {
  if (issues.some(({ path }) => path[0] === 'token')) return replaceBy('expired')
  const problems = issues.map((issue) => [inputs.find(({ name }) => name === issue.path[0]), sentence(issue.message)])
  const marked = problems.filter(([input]) => input)
  markAll(new Map(marked))
  if (!marked.length) say(sentence(message))
}

addEventListener('hashchange', begin)
begin()
