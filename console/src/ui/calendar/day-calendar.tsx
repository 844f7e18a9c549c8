import { parseDate } from '@internationalized/date'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import {
  Calendar,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  Heading,
} from 'react-aria-components/Calendar'
import { I18nProvider } from 'react-aria-components/I18nProvider'
import { Icon } from '../icons/icon.tsx'
import './day-calendar.css'

/**
 * A month to choose a day from, by mouse and keys.
 * @param day the chosen day, YYYY-MM-DD @param today where the user is
 */
export function DayCalendar(props: { label: string; day: string | null; today: string; locale: string; onChoose(day: string): void }) {
  const { label, day, today, locale, onChoose } = props
  const [moved, setMoved] = useState<{ from: string | null; to: string } | null>(null)
  // The month follows the day until one turns the pages.
  const focused = moved?.from === day ? moved.to : (day ?? today)
  return (
    // Days of the service are those of this calendar, whatever the language's own is.
    <I18nProvider locale={new Intl.Locale(locale, { calendar: 'gregory' }).toString()}>
      <Calendar
        className="calendar"
        aria-label={label}
        value={day ? parseDate(day) : null}
        focusedValue={parseDate(focused)}
        onFocusChange={(date) => setMoved({ from: day, to: date.toString() })}
        onChange={(date) => onChoose(date.toString())}
        minValue={FIRST}
        maxValue={LAST}
      >
        <div className="calendar-header">
          <Button slot="previous" className="button quiet icon-only small">
            <Icon name="chevron-left" />
          </Button>
          <Heading className="calendar-heading" />
          <Button slot="next" className="button quiet icon-only small">
            <Icon name="chevron-right" />
          </Button>
        </div>
        <CalendarGrid weekdayStyle="short" className="calendar-grid">
          <CalendarGridHeader>{(name) => <CalendarHeaderCell className="calendar-weekday">{name}</CalendarHeaderCell>}</CalendarGridHeader>
          <CalendarGridBody>
            {(date) => <CalendarCell date={date} className={`calendar-day${date.toString() === today ? ' is-today' : ''}`} />}
          </CalendarGridBody>
        </CalendarGrid>
      </Calendar>
    </I18nProvider>
  )
}

const FIRST = parseDate('0001-01-01')
const LAST = parseDate('9999-12-31')
