import { useLoad } from '../../api/use.ts';
import { Choice } from '../../parts/filters.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { applications } from './owner.ts';

/** The application of a page, in its address as `app`. */
export const ApplicationFilter = () => {
  const listed = useLoad('applications', applications.list);
  return (
    <Choice
      label="Application"
      name="app"
      any="all"
      options={(listed.data?.owners ?? []).map(({ id, name }) => [
        String(id),
        `${id} ${plainText(name, 40)}`,
      ])}
    />
  );
};
