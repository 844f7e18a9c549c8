// The forms and samples of the first page.
const base = new URL(document.body.dataset.up || './', location.href).href.replace(/\/$/, '')
for (const place of document.querySelectorAll('[data-base]')) place.textContent = base

const find = (id) => document.querySelector(`#${id}`)
const show = (id, isShown) => {
  find(id).hidden = !isShown
}
let key

/** Calls the API. Throws an error with the message of the answer. */
async function call(method, path, body) {
  const response = await fetch(base + path, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...(key && { authorization: `Bearer ${key}` }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.message)
  return answer
}

/** Runs what a button does, and says what went wrong. */
const say = (text) => {
  find('key-status').textContent = text
}
async function attempt(button, work) {
  say('')
  button.disabled = true
  try {
    await work()
  } catch (error) {
    say(error.message)
  } finally {
    button.disabled = false
  }
}

let hasDemo = false

function showUser(user) {
  show('signed-in', user)
  show('sign-in', !user)
  show('demo', hasDemo && !user)
  if (user) find('who').textContent = `${user.name} (${user.email})`
}

async function makeKey(kind) {
  const name = `Made at /docs on ${new Date().toISOString().slice(0, 10)}`
  const { secret } = await call('POST', '/api/keys/create', { kind, name })
  key = secret
  show('made', true)
  find('secret').value = secret
  for (const place of document.querySelectorAll('[data-key]')) place.textContent = secret
  say('The key was made, and is in the samples below.')
}

/** Sessions make keys, and a key counts before the session of the browser. */
const asSession = async (work) => {
  key = undefined
  return work()
}

async function begin() {
  // Without the cookie of a session the question would be an error in the browser's console.
  const mayBeSignedIn = 'session' in find('account').dataset
  const user = mayBeSignedIn ? await call('GET', '/api/auth/me').catch(() => null) : null
  const { demo } = await call('GET', '/api/auth/methods')
  hasDemo = demo !== undefined
  showUser(user)
  if (demo) offerDemo(demo)
  // Where one click is enough, the form is folded.
  find('sign-in').open = !demo
}

function offerDemo(users) {
  const signIn = async (email) => showUser(await call('POST', '/api/auth/demo', { email }))
  for (const { name, email, role } of users) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'quiet'
    button.textContent = `${name} (${role})`
    button.addEventListener('click', () => attempt(button, () => asSession(() => signIn(email))))
    find('demo-users').append(button)
  }
  const owner = users.find(({ role }) => role === 'owner')
  show('demo-key', owner)
  find('demo-key').addEventListener('click', ({ currentTarget }) =>
    attempt(currentTarget, () =>
      asSession(async () => {
        await signIn(owner.email)
        await makeKey('account')
      }),
    ),
  )
}

find('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  const form = event.target
  attempt(form.querySelector('button'), () =>
    asSession(async () => {
      showUser(await call('POST', '/api/auth/login', Object.fromEntries(new FormData(form))))
      form.reset()
    }),
  )
})
find('new-key').addEventListener('click', ({ currentTarget }) => attempt(currentTarget, () => asSession(() => makeKey('personal'))))
find('sign-out').addEventListener('click', ({ currentTarget }) =>
  attempt(currentTarget, () =>
    asSession(async () => {
      await call('POST', '/api/auth/logout')
      showUser(null)
      say('You are signed out. Keys go on working.')
    }),
  ),
)
find('copy-key').addEventListener('click', async () => {
  find('secret').select()
  try {
    await navigator.clipboard.writeText(find('secret').value)
    say('Copied.')
  } catch {
    say('Selected: copy it with the keyboard.')
  }
})

find('run').addEventListener('click', async ({ currentTarget: button }) => {
  button.disabled = true
  const answer = document.createElement('pre')
  answer.tabIndex = 0
  try {
    answer.textContent = JSON.stringify(await call('GET', '/api/spaces/list'), null, 2)
  } catch (error) {
    answer.textContent = `${error.message}\n\nGet a key or sign in above first.`
  }
  find('answer').replaceChildren(answer)
  button.disabled = false
})

// Samples in several languages become tabs, and the language that was chosen last is remembered.
const LANGUAGE = 'gridpost-docs-language'
const groups = [...document.querySelectorAll('.languages')].map((group, number) => {
  const panels = [...group.querySelectorAll('[data-language]')]
  const list = document.createElement('div')
  list.className = 'tabs'
  list.setAttribute('role', 'tablist')
  list.setAttribute('aria-label', 'Language')
  const tabs = panels.map((panel) => {
    const tab = document.createElement('button')
    const { language } = panel.dataset
    tab.type = 'button'
    tab.className = 'tab'
    tab.textContent = language
    tab.id = `tab-${number}-${language}`
    panel.id = `panel-${number}-${language}`
    tab.setAttribute('role', 'tab')
    tab.setAttribute('aria-controls', panel.id)
    tab.addEventListener('click', () => choose(language))
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', tab.id)
    panel.querySelector('h3').remove()
    return tab
  })
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = tabs.indexOf(event.target)
    if (!step || at < 0) return
    const next = tabs[(at + step + tabs.length) % tabs.length]
    choose(next.textContent)
    next.focus()
  })
  list.append(...tabs)
  group.prepend(list)
  return { panels, tabs }
})

function choose(language) {
  for (const { panels, tabs } of groups) {
    for (const panel of panels) panel.hidden = panel.dataset.language !== language
    for (const tab of tabs) {
      const isChosen = tab.textContent === language
      tab.setAttribute('aria-selected', String(isChosen))
      tab.tabIndex = isChosen ? 0 : -1
    }
  }
  localStorage.setItem(LANGUAGE, language)
}
const chosen = localStorage.getItem(LANGUAGE)
const first = groups[0].tabs.map(({ textContent }) => textContent)
choose(first.includes(chosen) ? chosen : first[0])

begin().catch((error) => say(error.message))
