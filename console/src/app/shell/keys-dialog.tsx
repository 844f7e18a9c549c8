/** The keys that work on the page that is open. */
import { appTexts } from '../../texts/app.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { useAllKeys } from '../../ui/keys/keys.ts'

export function KeysDialog({ close }: { close: () => void }) {
  // What the open page adds stands before what works everywhere.
  const pages = useAllKeys().toReversed()
  return (
    <DialogBox title={appTexts.keysOfPage} close={close}>
      {pages.map(({ page, keys }) => (
        <section key={page} className="keys">
          <h3>{page}</h3>
          <dl>
            {keys.map(({ keys: pressed, does }) => (
              <div key={pressed + does}>
                <dt>
                  {pressed.split('+').map((key, at) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one name never change.
                    <kbd key={at}>{key || '+'}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </DialogBox>
  )
}
