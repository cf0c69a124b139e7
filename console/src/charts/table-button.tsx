type TableButtonProps = { isTable: boolean; onTable: (isTable: boolean) => void };

/** Shows a picture as a table, and back. */
export const TableButton = ({ isTable, onTable }: TableButtonProps) => (
  <button type="button" aria-pressed={isTable} onClick={() => onTable(!isTable)}>
    Table
  </button>
);
