import { href } from '../shell/router.ts';

/** The data id or application that items belong to, as a link to its page; 0 and null stand for none. */
export const OwnerLink = ({
  of: { data_id: dataId, app_id: appId },
  none,
}: {
  of: { readonly data_id: number | null; readonly app_id: number | null };
  /** What is said where there is no owner. */
  none: string;
}) => {
  if (!dataId && !appId) return <span>{none}</span>;
  const [path, text] = dataId
    ? [`/sources/${dataId}`, `data id ${dataId}`]
    : [`/applications/${appId}`, `application ${appId}`];
  return (
    <a class="figure" href={href(path)}>
      {text}
    </a>
  );
};
