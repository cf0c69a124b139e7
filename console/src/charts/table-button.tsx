import { Button } from '../parts/button.tsx';

type TableButtonProps = { isTable: boolean; onTable: (isTable: boolean) => void };

/** Shows a picture as a table, and back. */
export const TableButton = ({ isTable, onTable }: TableButtonProps) => (
  <Button aria-pressed={isTable} onClick={() => onTable(!isTable)}>
    Table
  </Button>
);
