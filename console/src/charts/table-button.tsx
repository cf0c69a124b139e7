/** Shows a picture as a table, and back. */
export const TableButton = ({
  isTable,
  onTable,
}: {
  isTable: boolean;
  onTable: (isTable: boolean) => void;
}) => (
  <button type="button" aria-pressed={isTable} onClick={() => onTable(!isTable)}>
    Table
  </button>
);
