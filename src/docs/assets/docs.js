// What every page has: buttons that copy code, and a key that leads to the search.
for (const block of document.querySelectorAll('.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const text = block.querySelector('code').textContent
    try {
      await navigator.clipboard.writeText(text)
      button.textContent = 'Copied'
    } catch {
      // Without TLS there is no clipboard: the code is selected instead.
      getSelection().selectAllChildren(block.querySelector('code'))
      button.textContent = 'Selected'
    }
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  })
  block.append(button)
}

// The list of pages is open beside a wide page, and folded above a narrow one.
const pages = document.querySelector('.pages details')
const isWide = matchMedia('(min-width: 52.01rem)')
const unfold = () => {
  if (pages) pages.open = isWide.matches
}
isWide.addEventListener('change', unfold)
unfold()

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select, [contenteditable]')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  document.querySelector('#search').focus()
})
