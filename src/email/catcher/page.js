// Runs in the page /dev/mail: shows new mails without a reload, and times as people write them.
const list = document.querySelector('main')
const search = new URLSearchParams(location.search).get('q') ?? ''
const news = document.getElementById('news')
news.setAttribute('role', 'status')
const say = (text) => {
  news.textContent = text
}

const MINUTE_MS = 60_000
const inFull = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })
const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

function timeText(instant) {
  const minutes = Math.floor((Date.now() - instant) / MINUTE_MS)
  if (minutes < -1 || minutes >= 60) return short.format(instant)
  if (minutes < 1) return 'just now'
  return minutes === 1 ? '1 minute ago' : `${minutes} minutes ago`
}

function showTimes() {
  for (const time of list.querySelectorAll('time')) {
    const instant = new Date(time.dateTime)
    time.textContent = timeText(instant)
    time.title = inFull.format(instant)
  }
}

/** Takes what is new from the page as it would be now. What is unfolded or typed into stays as it is. */
async function update() {
  const answer = await fetch(location.href)
  if (!answer.ok) return say('New mails cannot be shown: open this page by the link that the service has printed.')
  const now = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const added = [...now.querySelectorAll('main > details')].filter(({ id }) => !document.getElementById(id))
  if (!added.length) return
  for (const mail of list.querySelectorAll(':scope > details:not([open])')) if (!now.getElementById(mail.id)) mail.remove()
  for (const nothing of list.querySelectorAll(':scope > p')) nothing.remove()
  for (const mail of added) mail.open = false
  list.prepend(...added)
  showTimes()
  say(`New: ${added.map((mail) => `“${mail.querySelector('strong').textContent}”`).join(', ')}.`)
}

let stream
let again

function listen() {
  clearTimeout(again)
  stream?.close()
  stream = new EventSource(`/dev/mail/events?${new URLSearchParams({ q: search })}`)
  stream.addEventListener('open', () => say('New mails appear here by themselves.'))
  stream.addEventListener('mail', ({ data: newest }) => {
    if (newest !== '0' && !document.getElementById(`mail-${newest}`)) update().catch(sayAway)
  })
  stream.addEventListener('error', () => {
    sayAway()
    // The browser itself tries again, unless it got an answer that is an error.
    if (stream.readyState === EventSource.CLOSED) again = setTimeout(listen, 5_000)
  })
}

const sayAway = () => say('The service does not answer. New mails appear here when it does.')

// A browser has six connections to a service, which pages in the background leave to others.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return listen()
  clearTimeout(again)
  stream?.close()
})

showTimes()
setInterval(showTimes, MINUTE_MS / 4)
if (!document.hidden) listen()
