import { firstNames, lastNames } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

interface Shop {
  readonly customers: readonly { readonly id: number; readonly name: string; readonly city: string }[]
  readonly orders: readonly {
    readonly id: number
    readonly customer: number
    readonly status: string
    readonly cents: number
  }[]
}

function drawShop({ random, level }: Draw): Shop {
  const names = [
    ...new Set(
      Array.from({ length: byLevel(level, 6, 12, 24) }, () => `${random.pick(firstNames)} ${random.pick(lastNames)}`),
    ),
  ]
  const cities = ['Basel', 'Cork', 'Delft', 'Gent', 'Turin']
  const customers = names.map((name, at) => ({ id: at + 1, name, city: random.pick(cities) }))
  const orders = Array.from({ length: byLevel(level, 20, 60, 160) }, (_, at) => ({
    id: at + 1,
    // The last two customers have no orders, and some orders belong to deleted customers.
    customer: random.chance(0.1) ? 900 + random.int(1, 9) : random.int(1, names.length - 2),
    status: random.pick(['paid', 'paid', 'open', 'void']),
    cents: random.int(100, 90_000),
  }))
  return { customers, orders }
}

function dump({ customers, orders }: Shop): string {
  return lines([
    'CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);',
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT NOT NULL, cents INTEGER NOT NULL);',
    ...customers.map(({ id, name, city }) => `INSERT INTO customers VALUES (${id}, '${name}', '${city}');`),
    ...orders.map(
      ({ id, customer, status, cents }) => `INSERT INTO orders VALUES (${id}, ${customer}, '${status}', ${cents});`,
    ),
  ])
}

const setup = ['sqlite3 shop.db < shop.sql', 'rm shop.sql']

const report: Operation = {
  name: 'sqlite-report',
  domains: ['sqlite'],
  needs: ['sqlite3'],
  make: (draw) => {
    const { random, words, root } = draw
    const shop = drawShop(draw)
    const status = random.pick(['paid', 'open'])
    const rows = shop.customers.map(({ id, name, city }) => {
      const own = shop.orders.filter((order) => order.customer === id && order.status === status)
      return { name, city, count: own.length, cents: own.reduce((sum, { cents }) => sum + cents, 0) }
    })
    const text = rows
      .sort((a, b) => b.cents - a.cents || (a.name < b.name ? -1 : 1))
      .map(({ name, city, count, cents }) => `${name}|${city}|${count}|${cents}`)
    const out = random.pick(['customers.txt', 'ranking.txt', 'out/report.txt'])
    return reportWork(draw, {
      domain: 'sqlite',
      operation: 'sqlite-report',
      shape: 'join',
      faults: ['without-orders', 'orphaned-rows'],
      isOpen: true,
      ask: [
        words.say(
          random.pick([
            `The SQLite database \`${root}/shop.db\` has the tables \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). For every customer, including those without orders, write one line \`NAME|CITY|COUNT|CENTS\` to \`${root}/${out}\`, where COUNT is the number of the customer's orders with status \`${status}\` and CENTS is the sum of their cents (0 if there are none).`,
            `Rank the customers of \`${root}/shop.db\`, an SQLite database with \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). Only orders whose status is \`${status}\` count. Write one line \`NAME|CITY|COUNT|CENTS\` per customer to \`${root}/${out}\`, with the number of these orders and their total in cents; both are 0 for a customer who has none.`,
          ]),
          [
            `Summarize the orders of each customer in the SQLite database \`${root}/shop.db\`. Its tables are \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). The summary belongs in \`${root}/${out}\`, one line \`NAME|CITY|COUNT|CENTS\` per customer, customers without orders included: COUNT and CENTS are the number and the total cents of those orders of the customer that have status \`${status}\`, and both are 0 if there are no such orders.`,
            `How many orders with status \`${status}\` does each customer have, and how much are they worth? The data is in \`${root}/shop.db\` (SQLite), in the tables \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). Write the answer to \`${root}/${out}\`, a line \`NAME|CITY|COUNT|CENTS\` for every customer, where COUNT is the number of these orders and CENTS the sum of their cents. Customers who have none are listed too, with 0 for both.`,
            `\`${root}/${out}\` is to list all customers of the SQLite database \`${root}/shop.db\`, one per line as \`NAME|CITY|COUNT|CENTS\`. The database has the tables \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). COUNT is how many orders with status \`${status}\` a customer has, and CENTS is the sum of the cents of just these orders; a customer without any such order is listed with 0 for COUNT and 0 for CENTS.`,
          ],
        ),
        words.say(
          random.pick([
            'Sort by CENTS, largest first, then by NAME in byte order. Leave the database as it is.',
            'Put the highest total first; sort equal totals by name, in byte order. Do not change the database.',
          ]),
          [
            'Order the lines by CENTS, from the largest to the smallest; where CENTS is equal, the byte order of NAME decides. The database must not change.',
            'The customer with the most CENTS comes first, and customers with the same CENTS are sorted by NAME in byte order. Only read from the database.',
            'Sorting: CENTS descending, then NAME ascending in byte order. Make no changes to the database.',
            'Lines are in descending order of CENTS. If some are equal, put those in byte order of NAME. The database itself stays untouched.',
          ],
        ),
      ],
      before: { 'shop.sql': file(dump(shop)) },
      after: {},
      setup,
      out,
      text: lines(text),
      solve: `sqlite3 shop.db "SELECT name, city, COUNT(o.id), COALESCE(SUM(o.cents), 0) AS total FROM customers c
LEFT JOIN orders o ON o.customer_id = c.id AND o.status = '${status}' GROUP BY c.id ORDER BY total DESC, name"`,
    })
  },
}

const repair: Operation = {
  name: 'sqlite-repair',
  domains: ['sqlite'],
  needs: ['sqlite3'],
  make: (draw) => {
    const { random, words, root } = draw
    const shop = drawShop(draw)
    const isKnown = (customer: number) => customer <= shop.customers.length
    const orphans = shop.orders.filter(({ customer }) => !isKnown(customer))
    if (orphans.length === 0) return null
    const left = shop.orders.filter(({ customer, status }) => isKnown(customer) && status !== 'void')
    const out = random.pick(['orphans.txt', 'deleted.txt', 'out/lost-orders.txt'])
    return reportWork(draw, {
      domain: 'sqlite',
      operation: 'sqlite-repair',
      shape: 'clean-up',
      faults: ['orphaned-rows'],
      isOpen: true,
      ask: [
        words.say(
          random.pick([
            `Clean up the SQLite database \`${root}/shop.db\`, with the tables \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). Some orders belong to customers that do not exist. Write their ids to \`${root}/${out}\`, one per line, smallest first, and delete them from \`orders\`. Also delete all orders with status \`void\`; these do not go into the list unless their customer does not exist either.`,
            `In \`${root}/shop.db\` (SQLite; tables \`customers\` with id, name, city and \`orders\` with id, customer_id, status, cents) there are orders whose customer_id matches no customer. List the ids of these orders in \`${root}/${out}\`, in ascending order, one per line. Then delete them, as well as every order whose status is \`void\`.`,
          ]),
          [
            `The SQLite database \`${root}/shop.db\` (tables \`customers\`: id, name, city; \`orders\`: id, customer_id, status, cents) needs cleaning. Delete two kinds of orders: those whose customer_id is not the id of any customer, and those with status \`void\`. The ids of the first kind go to \`${root}/${out}\`, one per line, from smallest to largest; an order with status \`void\` is listed there only if its customer does not exist either.`,
            `Orders without a customer have to be removed from \`${root}/shop.db\`, an SQLite database with the tables \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). These are the orders whose customer_id matches no customer, whatever their status. Record their ids in \`${root}/${out}\` in ascending order, one on each line, and delete them from \`orders\`. After that, delete all remaining orders with status \`void\` as well, without recording their ids.`,
            `Please remove from the table \`orders\` of \`${root}/shop.db\` every order whose customer does not exist and every order whose status is \`void\`. The database is SQLite; its tables are \`customers\` (id, name, city) and \`orders\` (id, customer_id, status, cents). \`${root}/${out}\` must list the ids of the orders whose customer did not exist (all of them and no others), one per line, in ascending order.`,
          ],
        ),
        words.say(random.pick(['All other rows stay as they are.', 'Nothing else in the database changes.']), [
          'Every other row must be kept unchanged.',
          'Leave all the other rows alone.',
          'Do not change or delete any other rows.',
          'The rest of the database remains the same.',
          'Apart from this, the database must not be changed.',
        ]),
      ],
      before: { 'shop.sql': file(dump(shop)) },
      after: { 'shop.db': { kind: 'some' } },
      setup,
      probes: [
        {
          command: `sqlite3 -init /dev/null -batch -list shop.db 'SELECT * FROM orders ORDER BY id; SELECT * FROM customers ORDER BY id'`,
          stdout: lines([
            ...left.map(({ id, customer, status, cents }) => `${id}|${customer}|${status}|${cents}`),
            ...shop.customers.map(({ id, name, city }) => `${id}|${name}|${city}`),
          ]),
        },
      ],
      out,
      text: lines(orphans.map(({ id }) => String(id))),
      solve: `sqlite3 shop.db 'SELECT id FROM orders WHERE customer_id NOT IN (SELECT id FROM customers) ORDER BY id'
sqlite3 shop.db "DELETE FROM orders WHERE customer_id NOT IN (SELECT id FROM customers) OR status = 'void'"`,
    })
  },
}

/** Operations on SQLite databases. */
export const sqliteOperations: readonly Operation[] = [report, repair]
